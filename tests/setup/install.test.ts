import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runProcess } from '../../packages/testkit/src/index.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

// A small repository with our scripts, and an npm that only says it was asked.
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-tmp-install-'));
  await cp(join(root, 'scripts'), join(folder, 'scripts'), { recursive: true });
  await writeJson('package.json', { version: '1.2.3', engines: { node: '>=20.19' } });
  await writeFile(
    join(folder, 'npm-cli.js'),
    `console.log('npm says', process.argv.slice(2).join(' ')); process.exit(7);`,
  );
});
afterEach(() => rm(folder, { recursive: true }));

async function writeJson(path: string, value: unknown): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), JSON.stringify(value));
}

async function install(): Promise<{ code: number | null; stderr: string }> {
  const script = `import('./scripts/install.mjs').then((it) => it.install())`;
  const env = { npm_execpath: join(folder, 'npm-cli.js') };
  const { code, stderr } = await runProcess(process.execPath, ['-e', script], { cwd: folder, env });
  return { code, stderr };
}

async function lockfiles(wanted: Record<string, unknown>, installed: Record<string, unknown>): Promise<void> {
  await writeJson('package-lock.json', { packages: { '': {}, ...wanted } });
  await writeJson('node_modules/.package-lock.json', { packages: installed });
}

const pg = { version: '8.0.0', integrity: 'sha512-a' };

test('a Node.js that is too old is refused with what is needed', async () => {
  await writeJson('package.json', { engines: { node: '>=999.1' } });
  const { code, stderr } = await install();
  expect(code).toBe(2);
  expect(stderr).toContain(
    `cannot run on Node.js ${process.versions.node}: this repository needs 999.1 or newer`,
  );
});

test('a fresh clone is installed; when that fails, npm is quoted', async () => {
  await writeJson('package-lock.json', { packages: { '': {}, 'node_modules/pg': pg } });
  const { code, stderr } = await install();
  expect(code).toBe(1);
  expect(stderr).toContain('Installing dependencies (node_modules is missing or incomplete)');
  expect(stderr).toContain('npm says ci --include=dev --include=optional');
  expect(stderr).toContain('npm ended with 7');
});

test('what is installed already is not installed again', async () => {
  await lockfiles({ 'node_modules/pg': pg }, { 'node_modules/pg': pg });
  expect(await install()).toEqual({ code: 0, stderr: '' });
});

test.each([
  ['another version', { 'node_modules/pg': { ...pg, version: '9.0.0' } }, 'node_modules/pg is out of date'],
  ['other contents', { 'node_modules/pg': { ...pg, integrity: 'b' } }, 'node_modules/pg is out of date'],
  ['one more package', { 'node_modules/pg': pg, 'node_modules/ws': pg }, 'node_modules/ws is missing'],
])('%s in the lock file is installed', async (_title, wanted, reason) => {
  await lockfiles(wanted, { 'node_modules/pg': pg });
  expect((await install()).stderr).toContain(`Installing dependencies (${reason})`);
});

test('packages for other machines need not be there, those for this one must', async () => {
  const optional = { ...pg, optional: true };
  const installed = { 'node_modules/pg': pg };
  await lockfiles({ ...installed, 'node_modules/x': { ...optional, os: ['plan9'] } }, installed);
  expect((await install()).code).toBe(0);
  const ours = { ...optional, os: [process.platform], cpu: [process.arch] };
  await lockfiles({ ...installed, 'node_modules/x': ours }, installed);
  expect((await install()).stderr).toContain('node_modules/x is missing');
});

test('a bundle runs alone, knows its version, and parses SQL', async () => {
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(
    join(folder, 'entry.ts'),
    `import { loadModule, parseSync } from 'libpg-query';
     import { Worker } from 'node:worker_threads';
     declare const __SVC_VERSION__: string;
     declare const SVC_HELPER: string;
     void loadModule().then(() => {
       console.log(__SVC_VERSION__, parseSync('select 1; select 2').stmts.length);
       new Worker(SVC_HELPER, { eval: true }).on('message', (message) => console.log(message));
     });`,
  );
  await writeFile(
    join(folder, 'helper.ts'),
    `import { parentPort } from 'node:worker_threads';
     parentPort?.postMessage('from the helper');`,
  );
  const script = `import('./scripts/bundle.mjs').then((it) => it.bundle({ entry: 'entry.ts', helpers: { SVC_HELPER: { entry: 'helper.ts' } }, output: 'out/tool' }))`;
  const built = await runProcess(process.execPath, ['-e', script], { cwd: folder });
  expect(built).toMatchObject({ code: 0, stderr: '' });
  expect(await readFile(join(folder, 'out/tool'), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n(?!#!)/);

  await mkdir(join(folder, 'alone'));
  await cp(join(folder, 'out/tool'), join(folder, 'alone/tool'));
  await rm(join(folder, 'node_modules'));
  const run = await runProcess(join(folder, 'alone/tool'), [], { cwd: join(folder, 'alone') });
  expect(run).toMatchObject({ code: 0, stdout: '1.2.3 2\nfrom the helper\n', stderr: '' });
});
