import { randomInt } from 'node:crypto';
import { runProcess, startProcess, type RunningProcess } from '../processes/start-process.ts';

/** A host of its own as far as the network goes: a network namespace with one line to this machine. */
export interface NetworkHost {
  /** Of the host, as this machine reaches it. */
  readonly address: string;
  /** Of this machine, as the host reaches it. */
  readonly gateway: string;
  /** For `within` of a process that is to run there. */
  readonly within: readonly string[];
  /** From now on nothing that is sent arrives, either way, and nobody is told. */
  goDark(): Promise<void>;
  comeBack(): Promise<void>;
  /** From now on the line delays and loses packets, so many percent; rejects where the kernel cannot do it. */
  impair(options: { readonly delayMs: number; readonly lossPercent: number }): Promise<void>;
  /** Ends what runs there, too. */
  remove(): Promise<void>;
}

/** Addresses that are meant for tests of network devices. */
const networkOf = (n: number): string => `198.18.${n >> 6}.${(n & 63) << 2}`;
const MAX_NETWORKS = 1 << 14;
/** An address of a device that there is not. */
const NOBODY = '02:00:00:00:00:99';

/** A new host; or why this machine cannot have one. It is gone, with its line, when this process is. */
export async function networkHost(): Promise<NetworkHost | string> {
  if (process.platform !== 'linux') return 'only Linux has network namespaces';
  if (process.getuid?.() !== 0) return 'network namespaces with a line to this machine take root';
  let holder: RunningProcess | undefined;
  try {
    holder = await startProcess('unshare', ['-n', 'sh', '-c', 'echo there && exec sleep 3600']);
    await holder.waitForLine((line) => line === 'there');
    return await connect(holder);
  } catch (error) {
    await holder?.stop();
    return `this machine has no network namespaces: ${error instanceof Error ? error.message : String(error)}`;
  }
}

async function connect(holder: RunningProcess): Promise<NetworkHost> {
  const network = randomInt(MAX_NETWORKS);
  const [a = '', b = '', c = '', d = '0'] = networkOf(network).split('.');
  const at = (offset: number): string => [a, b, c, Number(d) + offset].join('.');
  const [gateway, address] = [at(1), at(2)];
  const line = `svc${network.toString(36)}`;
  const within = ['nsenter', '-t', String(holder.pid), '-n'];
  await run('ip', ['link', 'add', line, 'type', 'veth', 'peer', 'name', 'line', 'netns', String(holder.pid)]);
  await run('ip', ['address', 'add', `${gateway}/30`, 'dev', line]);
  await run('ip', ['link', 'set', line, 'up']);
  const [enter = '', ...inside] = within;
  for (const words of [
    ['address', 'add', `${address}/30`, 'dev', 'line'],
    ['link', 'set', 'line', 'up'],
    ['link', 'set', 'lo', 'up'],
  ]) {
    await run(enter, [...inside, 'ip', ...words]);
  }
  // Each end sends to a device that is not there: were the line taken down, senders would be told that there is no way.
  const misdirect = async (...how: readonly string[]): Promise<void> => {
    await run('ip', ['neighbour', ...how, 'to', address, 'dev', line]);
    await run(enter, [...inside, 'ip', 'neighbour', ...how, 'to', gateway, 'dev', 'line']);
  };
  return {
    address,
    gateway,
    within,
    goDark: () => misdirect('replace', 'lladdr', NOBODY, 'nud', 'permanent'),
    comeBack: () => misdirect('delete'),
    impair: ({ delayMs, lossPercent }) =>
      run('tc', [
        'qdisc',
        'replace',
        'dev',
        line,
        'root',
        'netem',
        'delay',
        `${delayMs}ms`,
        'loss',
        `${lossPercent}%`,
      ]),
    async remove() {
      await run('ip', ['link', 'delete', line]);
      await holder.stop();
    },
  };
}

async function run(command: string, args: readonly string[]): Promise<void> {
  const { code, stderr } = await runProcess(command, args);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr.trim()}`);
}
