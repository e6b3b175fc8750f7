import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../network/free-port.ts';
import { isListening } from '../network/is-listening.ts';
import { startProcess, type RunningProcess } from '../processes/start-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import type { HttpBalancer, Target } from './http-balancer.ts';
import { findProgram } from './find-program.ts';

export interface Haproxy extends HttpBalancer {
  /** Whether it sends calls to the target of this index. */
  isUp(index: number): boolean;
}

export interface HaproxyOptions {
  readonly targets: readonly Target[];
  /** Of the file that is installed: see there what it checks, and when it tries again. */
  readonly configuration: string;
  /** How often it asks each target how it is; default as the file says. */
  readonly checkEveryMs?: number;
  /** Knows no other target than the first for agents. One that is merely preferred is passed over while a check of it is late. */
  readonly agentsToFirst?: boolean;
}

/** Runs a configuration that is made for three gateways with these targets in their place, without TLS before it. */
export async function startHaproxy(options: HaproxyOptions): Promise<Haproxy> {
  const program = findProgram('haproxy');
  if (program === undefined) throw new Error('cannot start HAProxy: it is not installed');
  const folder = await temporaryFolder('haproxy');
  const port = await freePort();
  const file = join(folder.path, 'haproxy.cfg');
  await writeFile(file, adapted(await readFile(options.configuration, 'utf8'), port, options));
  let running: RunningProcess | undefined;
  try {
    const started = await startProcess(program, ['-db', '-f', file]);
    running = started;
    await isListening(port);
    return {
      port,
      isUp(index) {
        const changes = started.output().matchAll(/^Server ready\/gateway(\d+) is (UP|DOWN)/gm);
        const ofTarget = [...changes].filter(([, number]) => Number(number) === index + 1);
        return ofTarget.at(-1)?.[2] !== 'DOWN';
      },
      async stop() {
        await started.stop();
        await folder.remove();
      },
    };
  } catch (error) {
    await running?.stop();
    await folder.remove();
    throw error;
  }
}

function adapted(
  configuration: string,
  port: number,
  { targets, checkEveryMs, agentsToFirst = false }: HaproxyOptions,
): string {
  const servers = targets.map(
    ({ host, port: target, secure = false }, index) =>
      `    server gateway${index + 1} ${host}:${target}${secure ? ' ssl verify none' : ''}`,
  );
  const checked =
    checkEveryMs === undefined
      ? configuration
      : configuration.replace(/inter \S+ fastinter \S+/, `inter ${checkEveryMs}ms`);
  const rewritten = checked
    .replace(/bind .*/, `bind 127.0.0.1:${port}`)
    .replaceAll(/^ +server gateway1 [^]*?server gateway3 .*$/gm, servers.join('\n'));
  const withAgents = agentsToFirst
    ? rewritten.replace(
        /(?<=backend alive\n[^]*?server gateway1 .*)\n +server gateway2 [^]*?server gateway3 .*/,
        '',
      )
    : rewritten;
  return withAgents.replace(
    '\ndefaults\n',
    '\nglobal\n    log stdout format raw local0\n    maxconn 4000\ndefaults\n    log global\n',
  );
}
