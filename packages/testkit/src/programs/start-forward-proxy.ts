import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../network/free-port.ts';
import { isListening } from '../network/is-listening.ts';
import { runProcess, startProcess } from '../processes/start-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { findProgram } from './find-program.ts';

/** An HTTP proxy by which programs leave a network; it wants this user and password. */
export interface ForwardProxy {
  readonly port: number;
  stop(): Promise<void>;
}

export interface ForwardProxyOptions {
  readonly user: string;
  readonly password: string;
  /** The only port to which it opens tunnels. */
  readonly allowedPort: number;
}

/** `hosts`: names that the proxy knows, by their addresses. */
export async function startSquid(
  options: ForwardProxyOptions & { readonly hosts: Readonly<Record<string, string>> },
): Promise<ForwardProxy> {
  return start('squid', ['-N', '-f'], async (folder, port) => {
    const users = join(folder, 'users');
    const hosts = join(folder, 'hosts');
    const { stdout: hash } = await runProcess('openssl', ['passwd', '-apr1', options.password]);
    await writeFile(users, `${options.user}:${hash}`);
    await writeFile(
      hosts,
      Object.entries(options.hosts)
        .map(([name, address]) => `${address} ${name}\n`)
        .join(''),
    );
    // As root it goes on as another user.
    await chmod(folder, 0o777);
    return `http_port 127.0.0.1:${port}
hosts_file ${hosts}
auth_param basic program /usr/lib/squid/basic_ncsa_auth ${users}
acl users proxy_auth REQUIRED
acl allowed port ${options.allowedPort}
http_access deny !allowed
http_access allow users
http_access deny all
cache deny all
pinger_enable off
pid_filename none
shutdown_lifetime 0 seconds
access_log none
cache_log ${join(folder, 'cache.log')}
coredump_dir ${folder}
`;
  });
}

/** It looks names up as this machine does. */
export async function startTinyproxy(options: ForwardProxyOptions): Promise<ForwardProxy> {
  return start('tinyproxy', ['-d', '-c'], async (_folder, port) => {
    return `Port ${port}
Listen 127.0.0.1
Allow 127.0.0.1
BasicAuth ${options.user} ${options.password}
ConnectPort ${options.allowedPort}
`;
  });
}

async function start(
  name: string,
  flags: readonly string[],
  configure: (folder: string, port: number) => Promise<string>,
): Promise<ForwardProxy> {
  const program = findProgram(name);
  if (program === undefined) throw new Error(`cannot start ${name}: it is not installed`);
  const folder = await temporaryFolder(name);
  const port = await freePort();
  const file = join(folder.path, 'configuration');
  await writeFile(file, await configure(folder.path, port));
  const running = await startProcess(program, [...flags, file]);
  const stop = async (): Promise<void> => {
    await running.stop();
    await folder.remove();
  };
  try {
    await isListening(port);
    return { port, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
