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
import { childrenOf } from '../../load/process-tree.ts';

interface SshTunnel {
  /** Of 127.0.0.1, on the outer side; connections to it arrive at the inner port. */
  readonly port: number;
  readonly version: string;
  readonly sshd: RunningProcess;
  readonly ssh: RunningProcess;
}

const HOST = '127.0.0.1';
/** The cheapest that OpenSSH has on processors with instructions for AES; it has none without encryption. */
export const CIPHER = 'aes128-gcm@openssh.com';

/**
 * A server of its own on the outer side, and a client that dials it from the inner one and forwards `ssh -R`. Both run as
 * `user`; `options` say so, and `cwd` has their files.
 */
export async function startSshTunnel(
  innerPort: number,
  user: string,
  options: ProcessOptions & { readonly cwd: string },
  releasers: Releasers,
): Promise<SshTunnel> {
  const folder = options.cwd;
  const [hostKey, clientKey] = [join(folder, 'host-key'), join(folder, 'client-key')];
  const sshPort = await freePort();
  const hostPublicKey = await createKey(hostKey, options);
  const clientPublicKey = await createKey(clientKey, options);
  const [authorized, known] = [join(folder, 'authorized-keys'), join(folder, 'known-hosts')];
  const config = join(folder, 'sshd-config');
  await writeFile(authorized, `restrict,port-forwarding,permitlisten="${HOST}:*" ${clientPublicKey}`);
  await writeFile(known, `[${HOST}]:${sshPort} ${hostPublicKey}`);
  await writeFile(config, serverConfig(sshPort, hostKey, authorized));

  // It wants to be called by its full path, since it starts itself again for each connection.
  const sshd = await startProcess(findProgram('sshd') ?? 'sshd', ['-D', '-e', '-f', config], options);
  await releasers.add(() => stopServer(sshd));
  await sshd.waitForLine((line) => line.startsWith('Server listening on'));

  const login = ['-F', 'none', '-N', '-T', '-i', clientKey, '-c', CIPHER, '-p', String(sshPort)];
  const forward = ['-R', `${HOST}:0:${HOST}:${innerPort}`, `${user}@${HOST}`];
  const ssh = await startProcess('ssh', [...login, ...clientOptions(known), ...forward], options);
  await releasers.add(() => ssh.stop());
  const line = await ssh
    .waitForLine((text) => text.startsWith('Allocated port '))
    .catch((error: unknown) => {
      throw new Error(`cannot make the ssh tunnel; the server says:\n${sshd.output()}`, { cause: error });
    });
  return {
    port: Number(/^Allocated port (\d+)/.exec(line)?.[1]),
    version: await versionOf(),
    sshd,
    ssh,
  };
}

function serverConfig(port: number, hostKey: string, authorizedKeys: string): string {
  return `ListenAddress ${HOST}:${port}
HostKey ${hostKey}
AuthorizedKeysFile ${authorizedKeys}
# The folder for temporary files, above the keys, may be written by everybody.
StrictModes no
PidFile none
UsePAM no
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
AllowTcpForwarding remote
GatewayPorts no
Compression no
`;
}

function clientOptions(knownHosts: string): readonly string[] {
  const options = [
    'BatchMode=yes',
    'IdentitiesOnly=yes',
    'StrictHostKeyChecking=yes',
    `UserKnownHostsFile=${knownHosts}`,
    'GlobalKnownHostsFile=none',
    'ExitOnForwardFailure=yes',
    'ServerAliveInterval=15',
    'Compression=no',
  ];
  return options.flatMap((option) => ['-o', option]);
}

async function createKey(file: string, options: ProcessOptions): Promise<string> {
  const make = ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', file];
  for (const args of [make, ['-y', '-f', file]]) {
    const { code, stdout, stderr } = await runProcess('ssh-keygen', args, options);
    if (code !== 0) throw new Error(`cannot create a key: ssh-keygen ended with ${code}\n${stderr}`);
    if (stdout !== '') return stdout;
  }
  throw new Error('cannot create a key: ssh-keygen does not print it');
}

/** Its sessions are in process groups of their own; they end with the client's connection, which is closed before. */
async function stopServer(sshd: RunningProcess): Promise<void> {
  for (const end = Date.now() + 5000; Date.now() < end && (await childrenOf(sshd.pid)).length > 0;) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await sshd.stop();
}

async function versionOf(): Promise<string> {
  const { stderr } = await runProcess('ssh', ['-V']);
  return /OpenSSH_(\w[\w.]*)/.exec(stderr)?.[1] ?? 'unknown';
}
