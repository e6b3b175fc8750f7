import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { findProgram, runProcess, temporaryFolder } from '../../packages/testkit/src/index.ts';
import { ROOT } from '../documentation/documents.ts';
import { copyWithLibraries } from './empty-root.testing.ts';

export interface Report {
  readonly folder: string;
  readonly version: string;
  readonly made: readonly { readonly kind: string; readonly file: string; readonly sha256: string }[];
  readonly not_made: readonly { readonly kind: string; readonly reason: string }[];
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** Made of the same commit. */
    packages: readonly [Report, Report];
    /** The root of an installed Debian, to be copied; undefined where none can be. */
    debian: string | undefined;
  }
}

/** What the packages of the tests are published as. */
export const NAMES = { npm: '@example/reports', mcp: 'io.github.example/reports' } as const;

const MAKE_MS = 600_000;

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const temporary = await temporaryFolder('packages');
  const base = await makeBase(temporary.path);
  // They have nothing to do with each other, and there are two cores.
  const [debian, first, second] = await Promise.all([
    makeDebian(),
    makePackages(join(temporary.path, 'first'), base, { umask: '022', TZ: 'UTC' }),
    makePackages(join(temporary.path, 'second'), base, { umask: '077', TZ: 'Asia/Kolkata' }),
  ]);
  project.provide('packages', [first, second]);
  project.provide('debian', debian);
  return () => temporary.remove();
}

async function makePackages(
  out: string,
  base: string | undefined,
  { umask, TZ }: { readonly umask: string; readonly TZ: string },
): Promise<Report> {
  const command = `umask ${umask} && exec node scripts/package.mjs --json --npm-name ${NAMES.npm} --mcp-name ${NAMES.mcp} --out "$0" ${base === undefined ? '' : '--base "$1"'}`;
  const { code, stdout, stderr } = await runProcess('sh', ['-c', command, out, base ?? ''], {
    cwd: ROOT,
    env: { TZ, GOFLAGS: process.env['GOFLAGS'] },
    withinMs: MAKE_MS,
  });
  if (code !== 0) throw new Error(`npm run package ended with ${code}:\n${stderr}`);
  return JSON.parse(stdout);
}

/** An image with the Node.js of this machine and `cp`, in place of one from a registry; undefined where none can be made. */
async function makeBase(folder: string): Promise<string | undefined> {
  const [buildah, containerfile] = [findProgram('buildah'), join(folder, 'Containerfile')];
  if (buildah === undefined) return undefined;
  const context = join(folder, 'base');
  const archive = `oci-archive:${join(folder, 'base.tar')}`;
  await writeFile(containerfile, 'FROM scratch\nCOPY root /\n');
  const storage = ['--root', join(folder, 'images'), '--runroot', join(folder, 'run')];
  const build = ['build', '--isolation', 'chroot', '--file', containerfile, '--tag', archive, context];
  try {
    copyWithLibraries(join(context, 'root'), {
      '/usr/local/bin/node': process.execPath,
      '/bin/cp': '/bin/cp',
    });
    execFileSync(buildah, [...storage, '--storage-driver', 'vfs', ...build], { stdio: 'pipe' });
    return archive;
  } catch (error) {
    process.stderr.write(`cannot make an image to stand on: ${String(error)}\n`);
    return undefined;
  }
}

/** Installed once; kept where git sees nothing. */
async function makeDebian(): Promise<string | undefined> {
  const debootstrap = findProgram('debootstrap');
  if (debootstrap === undefined || findProgram('unshare') === undefined || process.getuid?.() !== 0)
    return undefined;
  const suite = 'bookworm';
  const root = join(ROOT, '.cache/package-tools', `debian-${suite}`);
  if (existsSync(root)) return root;
  const draft = `${root}.${process.pid}.tmp`;
  const include = ['--include', 'libatomic1,libstdc++6'];
  await mkdir(draft, { recursive: true });
  // What it mounts is gone with it, also when it is killed.
  const { code, stderr, stdout } = await runProcess(
    'unshare',
    ['--mount', debootstrap, '--variant=minbase', ...include, suite, draft],
    { env: { http_proxy: process.env['http_proxy'] }, withinMs: MAKE_MS },
  );
  if (code === 0) {
    await rename(draft, root);
    return root;
  }
  process.stderr.write(`cannot install a Debian: ${`${stdout}${stderr}`.trim().split('\n').at(-1)}\n`);
  await rm(draft, { recursive: true, force: true });
  return undefined;
}
