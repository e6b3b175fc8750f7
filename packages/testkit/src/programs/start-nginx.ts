import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../network/free-port.ts';
import { isListening } from '../network/is-listening.ts';
import { startProcess, type RunningProcess } from '../processes/start-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import type { Balancer, Target } from './balancer.ts';
import { findProgram } from './find-program.ts';

/** It asks no target how it is: it learns from the calls themselves, and takes none out for the answers it gives. */
export async function startNginx(targets: readonly Target[]): Promise<Balancer> {
  const program = findProgram('nginx');
  if (program === undefined) throw new Error('cannot start nginx: it is not installed');
  const folder = await temporaryFolder('nginx');
  const port = await freePort();
  const servers = targets.map(({ host, port: target }) => `server ${host}:${target} max_fails=0;`);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder.path, name)};`,
  );
  const configuration = `pid ${join(folder.path, 'nginx.pid')};
error_log stderr;
daemon off;
master_process off;
events { worker_connections 4096; }
http {
  access_log off;
  ${temporary.join('\n  ')}
  upstream gateways { ${servers.join(' ')} keepalive 64; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://gateways;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_connect_timeout 1s;
      proxy_next_upstream error timeout http_503 non_idempotent;
      proxy_next_upstream_tries 2;
    }
  }
}
`;
  const file = join(folder.path, 'nginx.conf');
  await writeFile(file, configuration);
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
