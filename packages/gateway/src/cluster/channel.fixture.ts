import cluster from 'node:cluster';
import { createPrimaryChannel } from './primary/primary-channel.ts';
import { startOrder } from './start-order.testing.ts';
import { ipcWire } from './channel.ts';
import { createWorkerChannel } from './worker/worker-channel.ts';

// Run as a program: a primary that starts one worker, which prints what it hears.
if (cluster.isPrimary) {
  cluster.setupPrimary({ serialization: 'advanced' });
  const channel = createPrimaryChannel();
  channel.answer('start', () => startOrder({ GATEWAY_IP_ALLOW_LIST: '10.0.0.0/8' }));
  channel.onJoin((worker) => channel.send(worker, 'shut_down', { signal: 'behind the start order' }));
  channel.on('alive', () => process.kill(process.pid, 'SIGKILL'));
  channel.attach(0, ipcWire(cluster.fork().process));
} else {
  // Otherwise Node.js would end the process when the primary is gone.
  if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
  const channel = createWorkerChannel(ipcWire(process));
  const print = (what: string): void => void process.stdout.write(`${what}\n`);
  const { config, sessionSecret } = await channel.ask('start', { version: '' });
  const [key] = config.services[0]?.agentPublicKeys ?? [];
  print(
    `start ${key instanceof Uint8Array && typeof config.ipAllowList?.[0]?.base === 'bigint'} ${String(sessionSecret)}`,
  );
  channel.on('shut_down', ({ signal }) => {
    print(signal);
    channel.tell('alive', undefined);
    channel.ask('start', { version: '' }).catch((error: unknown) => print(String(error)));
  });
  channel.onLost(() => {
    print('lost');
    setImmediate(() => process.exit(0));
  });
}
