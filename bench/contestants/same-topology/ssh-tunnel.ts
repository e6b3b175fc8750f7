import { writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
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

/** The account that all of it runs as, and a folder of that account for its files. */
export interface Place {
  readonly folder: string;
  /** Undefined: the account of this process. */
  readonly account: { readonly name: string; readonly uid: number; readonly gid: number } | undefined;
}

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

/** A server of its own on the outer side, and a client that dials it from the inner one and forwards `ssh -R`. */
export async function startSshTunnel(
  innerPort: number,
  place: Place,
  releasers: Releasers,
): Promise<SshTunnel> {
  const { folder, account } = place;
  const options = processOptions(place);
  const [hostKey, clientKey] = [join(folder, 'host-key'), join(folder, 'client-key')];
  const sshPort = await freePort();
  const hostPublicKey = await createKey(hostKey, options);
  const clientPublicKey = await createKey(clientKey, options);
  const files = {
    authorized: join(folder, 'authorized-keys'),
    known: join(folder, 'known-hosts'),
    config: join(folder, 'sshd-config'),
  };
  await writeFile(files.authorized, `restrict,port-forwarding,permitlisten="${HOST}:*" ${clientPublicKey}`);
  await writeFile(files.known, `[${HOST}]:${sshPort} ${hostPublicKey}`);
  await writeFile(files.config, serverConfig(sshPort, hostKey, files.authorized));

  // It wants to be called by its full path, since it starts itself again for each connection.
  const sshd = await startProcess(findProgram('sshd') ?? 'sshd', ['-D', '-e', '-f', files.config], options);
  await releasers.add(() => stopServer(sshd));
  await sshd.waitForLine((line) => line.startsWith('Server listening on'));

  const user = account?.name ?? userInfo().username;
  const login = ['-F', 'none', '-N', '-T', '-i', clientKey, '-c', CIPHER, '-p', String(sshPort)];
  const forward = ['-R', `${HOST}:0:${HOST}:${innerPort}`, `${user}@${HOST}`];
  const ssh = await startProcess('ssh', [...login, ...clientOptions(files.known), ...forward], options);
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

export function processOptions({ folder, account }: Place): ProcessOptions {
  const identity = account === undefined ? {} : { uid: account.uid, gid: account.gid };
  return { cwd: folder, env: { HOME: folder }, ...identity };
}
