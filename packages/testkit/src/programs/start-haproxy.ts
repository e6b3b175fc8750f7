import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../network/free-port.ts';
import { isListening } from '../network/is-listening.ts';
import { startProcess, type RunningProcess } from '../processes/start-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import type { Balancer, Target } from './balancer.ts';
import { findProgram } from './find-program.ts';

export interface Haproxy extends Balancer {
  /** Whether it sends calls to the target of this index. */
  isUp(index: number): boolean;
}

export interface HaproxyOptions {
  readonly targets: readonly Target[];
  /** How often it asks each target for `/readyz`; two answers in a row decide. */
  readonly checkEveryMs: number;
  /** How a connection is given to a target: `roundrobin`, or `first`, which is always the same while it is up. */
  readonly balance?: 'roundrobin' | 'first';
}

/** With the settings for retries that the guide to several gateways recommends. */
export async function startHaproxy({
  targets,
  checkEveryMs,
  balance = 'roundrobin',
}: HaproxyOptions): Promise<Haproxy> {
  const program = findProgram('haproxy');
  if (program === undefined) throw new Error('cannot start HAProxy: it is not installed');
  const folder = await temporaryFolder('haproxy');
  const port = await freePort();
  const servers = targets.map(
    ({ host, port: target, secure = false }, index) =>
      `  server gateway${index} ${host}:${target}${secure ? ' ssl verify none' : ''}`,
  );
  const configuration = `global
  log stdout format raw local0 info notice
  # Enough for callers and targets, and no more descriptors than a test machine has.
  maxconn 4000
defaults
  mode http
  log global
  timeout connect 1s
  timeout client 60s
  timeout server 60s
  timeout http-request 10s
  timeout check 1s
frontend callers
  bind 127.0.0.1:${port}
  option http-buffer-request
  default_backend gateways
backend gateways
  balance ${balance}
  option redispatch 1
  retries 1
  retry-on conn-failure empty-response response-timeout 503
  option httpchk
  http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host gateways
  http-check expect status 200
  default-server check inter ${checkEveryMs}ms fall 2 rise 2 on-marked-down shutdown-sessions
${servers.join('\n')}
`;
  const file = join(folder.path, 'haproxy.cfg');
  await writeFile(file, configuration);
  let running: RunningProcess | undefined;
  try {
    const started = await startProcess(program, ['-db', '-f', file]);
    running = started;
    await isListening(port);
    const stop = async (): Promise<void> => {
      await started.stop();
      await folder.remove();
    };
    return {
      port,
      isUp(index) {
        const changes = started.output().matchAll(/^Server gateways\/gateway(\d+) is (UP|DOWN)/gm);
        const ofTarget = [...changes].filter(([, number]) => Number(number) === index);
        return ofTarget.at(-1)?.[2] !== 'DOWN';
      },
      stop,
    };
  } catch (error) {
    await running?.stop();
    await folder.remove();
    throw error;
  }
}
