import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../network/free-port.ts';
import { isListening } from '../network/is-listening.ts';
import { startProcess, type RunningProcess } from '../processes/start-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import type { HttpBalancer, Target } from './http-balancer.ts';
import { findProgram } from './find-program.ts';

export interface NginxOptions {
  readonly targets: readonly Target[];
  /** Of the file that is installed. */
  readonly configuration: string;
}

/** Runs a configuration that is made for three gateways with these targets in their place, without TLS before it. */
export async function startNginx({ targets, configuration }: NginxOptions): Promise<HttpBalancer> {
  const program = findProgram('nginx');
  if (program === undefined) throw new Error('cannot start nginx: it is not installed');
  const folder = await temporaryFolder('nginx');
  const port = await freePort();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder.path, name)};`,
  );
  const servers = targets.map(({ host, port: target }) => `server ${host}:${target} max_fails=0;`);
  const text = (await readFile(configuration, 'utf8'))
    .replace(
      /^worker_processes .*$/m,
      `pid ${join(folder.path, 'nginx.pid')};\nerror_log stderr;\ndaemon off;\nmaster_process off;`,
    )
    .replace(/^worker_rlimit_nofile .*$/m, '')
    .replace(/worker_connections \d+/, 'worker_connections 4096')
    .replace('http {', `http {\naccess_log off;\n${temporary.join('\n')}`)
    .replace('listen 443 ssl', `listen 127.0.0.1:${port}`)
    .replaceAll(/^ *ssl_.*$/gm, '')
    .replaceAll(/^ *server 10[^]*?server 10\.0\.0\.13.*$/gm, servers.join('\n'));
  const file = join(folder.path, 'nginx.conf');
  await writeFile(file, text);
  let running: RunningProcess | undefined;
  try {
    const started = await startProcess(program, ['-c', file, '-p', folder.path], { stopSignal: 'SIGQUIT' });
    running = started;
    await isListening(port);
    return {
      port,
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
