import { randomInt } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProcess, startProcess, type RunningProcess } from '../processes/start-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { findProgram } from './find-program.ts';

/** A name server of a test, and for processes that are started `within` it the only one. */
export interface Dnsmasq {
  /** For `within` of a process that is to ask this server. */
  readonly within: readonly string[];
  /** From now on these names have these addresses, and all others are not there. */
  names(addresses: Readonly<Record<string, readonly string[]>>): Promise<void>;
  /** It dies; `start` makes it answer again. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Or why this machine cannot have one. */
export async function startDnsmasq(): Promise<Dnsmasq | string> {
  const program = findProgram('dnsmasq');
  if (program === undefined) return 'dnsmasq is not installed';
  if (process.getuid?.() !== 0) return 'a name server listens on port 53, which takes root';
  const folder = await temporaryFolder('dnsmasq');
  // One of many loopback addresses, so that several tests have a port 53 each.
  const address = `127.53.${randomInt(256)}.${randomInt(1, 255)}`;
  const hosts = join(folder.path, 'hosts');
  const resolver = join(folder.path, 'resolv.conf');
  await writeFile(hosts, '');
  await writeFile(resolver, `nameserver ${address}\noptions timeout:1 attempts:1\n`);
  let running: RunningProcess | undefined;

  async function start(): Promise<void> {
    running = await startProcess(program ?? '', [
      '--keep-in-foreground',
      '--log-facility=-',
      '--conf-file=/dev/null',
      '--no-resolv',
      '--no-hosts',
      '--bind-interfaces',
      `--listen-address=${address}`,
      '--user=root',
      '--pid-file',
      '--local=/test/',
      '--local-ttl=0',
      `--addn-hosts=${hosts}`,
    ]);
    await running.waitForLine((line) => line.includes(`read ${hosts}`));
  }

  async function end(): Promise<void> {
    await running?.stop();
    running = undefined;
  }

  try {
    await start();
    const script = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
    const within = ['unshare', '-m', 'sh', '-c', script, resolver];
    const { code, stderr } = await runProcess('true', [], { within });
    if (code !== 0) throw new Error(stderr);
    return {
      within,
      async names(addresses) {
        const lines = Object.entries(addresses).flatMap(([name, all]) => all.map((one) => `${one} ${name}`));
        await writeFile(hosts, `${lines.join('\n')}\n`);
        const before = running?.output().split(`read ${hosts}`).length;
        running?.signal('SIGHUP');
        while (running !== undefined && running.output().split(`read ${hosts}`).length === before) {
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      },
      async kill() {
        running?.signal('SIGKILL');
        await running?.exited;
        running = undefined;
      },
      start,
      async stop() {
        await end();
        await folder.remove();
      },
    };
  } catch (error) {
    await end();
    await folder.remove();
    return `a name server cannot be had here: ${error instanceof Error ? error.message : String(error)}`;
  }
}
