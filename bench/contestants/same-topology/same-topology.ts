import { randomBytes } from 'node:crypto';
import { tmpdir, userInfo } from 'node:os';
import {
  findProgram,
  canEnter,
  serverAccount,
  temporaryFolder,
  type Postgres,
  type Releasers,
} from '@svc/testkit';
import type { Contestant } from '../contestant.ts';
import { postgresSource, startToolbox, TOOLBOX_SETTINGS, toolboxFaces } from '../toolbox.ts';
import { startNginx } from './nginx.ts';
import { CIPHER, startSshTunnel } from './ssh-tunnel.ts';

const PROGRAMS = {
  nginx: 'nginx',
  sshd: 'openssh-server',
  ssh: 'openssh-client',
  'ssh-keygen': 'openssh-client',
};

/** What is missing for it, and how it is installed; undefined when nothing is. */
export function whyNoSameTopology(): string | undefined {
  const missing = Object.entries(PROGRAMS).filter(([name]) => findProgram(name) === undefined);
  if (missing.length === 0) return undefined;
  const names = missing.map(([name]) => name).join(', ');
  const packages = [...new Set(missing.map(([, each]) => each))].join(' ');
  return (
    `cannot build the same topology from known parts: ${names} not installed; install (Debian: apt-get install ` +
    `--no-install-recommends ${packages}), or name the contestants that you want by --only`
  );
}

/**
 * What one would run instead of gateway and agent: nginx, which checks a key, outside; MCP Toolbox beside the database;
 * between them a port that `ssh -R`, dialled from inside, forwards.
 */
export async function startSameTopology(postgres: Postgres, releasers: Releasers): Promise<Contestant> {
  // As root, sshd wants a folder of its own in /run, and nginx an account for its workers.
  const account = await serverAccount();
  const parent = (await canEnter(tmpdir(), account)) ? tmpdir() : '/tmp';
  const folder = await temporaryFolder('same-topology', { parent, owner: account });
  await releasers.add(() => folder.remove());
  const options = {
    cwd: folder.path,
    env: { HOME: folder.path },
    ...(account === undefined ? {} : { uid: account.uid, gid: account.gid }),
  };
  const toolbox = await startToolbox(postgresSource(postgres), releasers);
  const user = account?.name ?? userInfo().username;
  const tunnel = await startSshTunnel(Number(new URL(toolbox.url).port), user, options, releasers);
  const key = randomBytes(24).toString('hex');
  const { url, version, nginx } = await startNginx(key, tunnel.port, options, releasers);
  return {
    name: 'same-topology',
    title: `nginx ${version} + OpenSSH ${tunnel.version} + ${toolbox.title}`,
    settings: `a map over the key, a worker per core, connections kept, no access log; ssh -R with ${CIPHER}; Toolbox: ${TOOLBOX_SETTINGS}`,
    url,
    processes: { nginx, sshd: tunnel.sshd, ssh: tunnel.ssh, ...toolbox.processes },
    wantsKey: true,
    faces: toolboxFaces({ authorization: `Bearer ${key}` }),
  };
}
