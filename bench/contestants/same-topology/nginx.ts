import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  findProgram,
  freePort,
  runProcess,
  startProcess,
  type ProcessOptions,
  type Releasers,
  type RunningProcess,
} from '@svc/testkit';

/** Passes calls on to a port of this machine when they carry `authorization: Bearer <key>`, and answers 401 to others. */
export async function startNginx(
  key: string,
  innerPort: number,
  options: ProcessOptions & { readonly cwd: string },
  releasers: Releasers,
): Promise<{ readonly url: string; readonly version: string; readonly nginx: RunningProcess }> {
  const program = findProgram('nginx') ?? 'nginx';
  const port = await freePort();
  const file = join(options.cwd, 'nginx.conf');
  await writeFile(file, config(options.cwd, key, port, innerPort));
  // Its workers are its children.
  const nginx = await startProcess(program, ['-p', options.cwd, '-c', file], options);
  await releasers.add(() => nginx.stop());
  await nginx.waitForLine((line) => line.includes('start worker process '));
  const { stderr } = await runProcess(program, ['-v']);
  const version = /nginx\/([\d.]+)/.exec(stderr)?.[1] ?? 'unknown';
  return { url: `http://127.0.0.1:${port}`, version, nginx };
}

/** Connections are kept on both sides, and an answer of some hundred rows is read into one buffer. */
function config(folder: string, key: string, port: number, innerPort: number): string {
  return `daemon off;
pid ${folder}/nginx.pid;
error_log stderr notice;
worker_processes auto;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  map_hash_bucket_size 128;
  map $http_authorization $is_known {
    default 0;
    "Bearer ${key}" 1;
  }
  upstream inside {
    server 127.0.0.1:${innerPort};
    keepalive 256;
    keepalive_requests 100000000;
    keepalive_time 1d;
  }
  server {
    listen 127.0.0.1:${port} backlog=1024;
    keepalive_requests 100000000;
    keepalive_time 1d;
    location / {
      if ($is_known = 0) { return 401; }
      proxy_pass http://inside;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Authorization "";
      proxy_buffer_size 32k;
      proxy_buffers 8 32k;
    }
  }
}
`;
}
