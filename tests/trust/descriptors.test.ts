import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { dial, SVC_GATEWAY, startProcess } from '@svc/testkit';
import { expect, test } from 'vitest';
import {
  askOnce,
  gatewayEnvironment,
  recordsOf,
  startLoneGateway,
} from '../requirements/lone-gateway.testing.ts';
import { metricsPortOf } from '../requirements/metrics-ports.testing.ts';
import { childrenOf } from '../workers/workers.testing.ts';
import { answersIn } from './attack.testing.ts';

const DESCRIPTORS = 60;
const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n';

async function openAndHold(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** The hard limit stays. */
async function limitOpenFiles(pid: number, soft: number): Promise<void> {
  await promisify(execFile)('prlimit', ['--pid', String(pid), `--nofile=${soft}:`]);
}

test(
  'callers whose connection no worker has a descriptor for wait for one, and are served once there is',
  { tags: ['workers:descriptors'] },
  async () => {
    const gateway = await startLoneGateway(await gatewayEnvironment([], { GATEWAY_WORKERS: '2' }));
    const workers = await childrenOf(gateway.process.pid);
    await Promise.all(workers.map((pid) => limitOpenFiles(pid, 3)));
    const callers = await Promise.all([1, 2, 3, 4, 5, 6].map(() => dial(gateway.port)));
    for (const caller of callers) caller.send(HEALTH);
    // Longer than it takes until each worker has refused one.
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(callers.map((caller) => caller.text())).toEqual(callers.map(() => ''));
    await Promise.all(workers.map((pid) => limitOpenFiles(pid, 1000)));
    await expect
      .poll(() => callers.map((caller) => answersIn(caller.text())), { interval: 20, timeout: 5000 })
      .toEqual(callers.map(() => ['200']));
    for (const { socket } of callers) socket.destroy();
    expect(await gateway.process.stop()).toEqual({ code: 0, signal: null });
    expect(gateway.process.output('stderr')).toBe('');
  },
);

test.each([1, 2])(
  'a stranger with many connections leaves a gateway of %i workers that serves within five seconds of its end',
  { timeout: 60_000 },
  async (workers) => {
    const env = await gatewayEnvironment([], { GATEWAY_WORKERS: String(workers) });
    const gateway = await startProcess('sh', ['-c', 'ulimit -n 256 && exec "$0"', SVC_GATEWAY], { env });
    const line = await gateway.waitForLine((text) => text.includes('"event":"listening"'));
    const port = Number(/"port":(\d+)/.exec(line)?.[1]);
    const warning = recordsOf(gateway).find(({ message }) => String(message).includes('ulimit -n'));
    expect(warning).toMatchObject({ level: 'warn', event: 'config_warning' });
    const held: Socket[] = [];
    for (let round = 0; round < 3; round++) {
      held.push(...(await Promise.all(Array.from({ length: 700 }, () => openAndHold(port)))));
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    for (const socket of held) socket.destroy();
    await expect
      .poll(() => askOnce(port, 'GET', '/healthz').then(({ status }) => status, String), {
        interval: 20,
        timeout: 5000,
      })
      .toBe(200);
    for (let asked = 0; asked < 20; asked++)
      expect((await askOnce(port, 'GET', '/healthz')).status).toBe(200);
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
  },
);

test('a gateway without descriptors serves who is connected, and everybody once it has some again', async () => {
  const env = await gatewayEnvironment([], { GATEWAY_METRICS_ADDR: '127.0.0.1:0' });
  const limited = ['-c', `ulimit -n ${DESCRIPTORS} && exec "$0"`, SVC_GATEWAY];
  const gateway = await startProcess('sh', limited, { env });
  const line = await gateway.waitForLine((text) => text.includes('"event":"listening"'));
  const port = Number(/"port":(\d+)/.exec(line)?.[1]);
  const ports = [port, await metricsPortOf(gateway)];
  const kept = await dial(port);
  kept.send(HEALTH);
  await expect.poll(() => answersIn(kept.text()), { interval: 5 }).toEqual(['200']);

  const held = await Promise.all(Array.from({ length: 2 * DESCRIPTORS }, () => openAndHold(port)));
  await expect
    .poll(() => held.filter((socket) => socket.readyState !== 'open').length, { interval: 20 })
    .toBeGreaterThan(DESCRIPTORS);
  kept.send(HEALTH);
  await expect.poll(() => answersIn(kept.text()), { interval: 5 }).toEqual(['200', '200']);

  for (const socket of held) socket.destroy();
  for (const each of ports) {
    const path = each === port ? '/healthz' : '/metrics';
    await expect
      .poll(() => askOnce(each, 'GET', path).then(({ status }) => status, String), { interval: 20 })
      .toBe(200);
  }
  kept.socket.destroy();
  expect(await gateway.stop()).toEqual({ code: 0, signal: null });
});
