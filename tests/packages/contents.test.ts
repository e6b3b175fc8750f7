import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runProcess, temporaryFolder } from '@svc/testkit';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { unzipSync } from 'fflate';
import { describe, expect, inject, test } from 'vitest';
import { ROOT } from '../documentation/documents.ts';
import { madeFiles, tell, lacks } from './tools.testing.ts';

const PACKAGE = join(ROOT, 'scripts/package.mjs');
const [first, second] = inject('packages');
tell(first);

test('what could not be made is named with the reason, and the rest is made', async () => {
  const temporary = await temporaryFolder('no-tools');
  try {
    // A machine with nothing but what the repository needs.
    const bin = join(temporary.path, 'bin');
    await mkdir(bin);
    await symlink(process.execPath, join(bin, 'node'));
    for (const program of ['sh', 'which', 'git']) await symlink(`/usr/bin/${program}`, join(bin, program));
    const npm = dirname(process.execPath);
    await symlink(join(npm, 'npm'), join(bin, 'npm'));
    const out = join(temporary.path, 'out');
    const { code, stdout, stderr } = await runProcess('node', [PACKAGE, '--out', out], {
      env: { PATH: bin },
      withinMs: 300_000,
    });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const lines = stdout.split('\n').slice(0, stdout.split('\n').indexOf(''));
    expect(lines.map((line) => line.split(/ +/).slice(0, 4).join(' '))).toEqual([
      expect.stringMatching(/^npm svc-[^ ]+tgz /),
      expect.stringMatching(/^mcpb svc-[^ ]+mcpb /),
      ...['svc-gateway', 'svc-agent', 'svc'].map((name) =>
        expect.stringMatching(`^sbom ${name}-[0-9][^ ]+cdx.json `),
      ),
      ...['server', 'marketplace'].map((kind) => `${kind} NOT MADE: ${kind}.json`),
      ...['binary', 'deb', 'rpm', 'image'].map((kind) => `${kind} NOT MADE: needs`),
    ]);
    expect(stdout).toMatch(/^server +NOT MADE: server\.json needs --npm-name.* and --mcp-name/m);
    expect(stdout).toMatch(/^marketplace +NOT MADE: marketplace\.json needs --npm-name/m);
    expect(stdout).toMatch(/^binary +NOT MADE: needs tar, strip$/m);
    expect(stdout).toMatch(/^image +NOT MADE: needs buildah, tar$/m);
  } finally {
    await temporary.remove();
  }
});

test('whoever ends it by a signal finds nothing half made', async () => {
  const temporary = await temporaryFolder('interrupted');
  const work = join(temporary.path, 'work');
  await mkdir(work);
  const run = spawn('node', [PACKAGE, '--out', join(temporary.path, 'out')], {
    env: { ...process.env, TMPDIR: work },
    stdio: 'ignore',
  });
  try {
    await expect.poll(() => readdir(work), { timeout: 60_000 }).not.toEqual([]);
    run.kill('SIGTERM');
    expect(await once(run, 'exit')).toEqual([143, null]);
    expect(await readdir(work)).toEqual([]);
    expect(await readdir(temporary.path)).toEqual(['work']);
  } finally {
    run.kill('SIGKILL');
    await temporary.remove();
  }
});

test.each([
  [['--npm-name', 'svc'], 'somebody else'],
  [['--npm-name', '@example/svc-agent'], 'another command'],
  [['--npm-name', 'No Name'], 'a name of npm'],
  [['--mcp-name', 'reports'], 'io.github.example/reports'],
  [['--bundle-url', 'http://example.com/a.mcpb'], 'https://'],
])('%j is refused', async (args, why) => {
  const { code, stderr } = await runProcess('node', [PACKAGE, ...args]);
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(why) });
});

test('a folder with other files is left as it is', async () => {
  const temporary = await temporaryFolder('not-packages');
  try {
    await writeFile(join(temporary.path, 'letter'), '');
    const { code, stderr } = await runProcess('node', [PACKAGE, '--out', temporary.path]);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('other files') });
    expect(await readdir(temporary.path)).toEqual(['letter']);
  } finally {
    await temporary.remove();
  }
});

test('the same commit gives the same bytes, whatever umask and time zone', () => {
  expect(second.made).toEqual(first.made);
  expect(second.not_made).toEqual(first.not_made);
});

test.each(['binary', 'deb', 'rpm', 'image'].filter((kind) => madeFiles(first, kind).length > 0))(
  'only the services have a package of the kind %s',
  (kind) => {
    const names = madeFiles(first, kind).map((file) => /^(.+?)[-_]\d/.exec(file)?.[1]);
    expect(names).toEqual(['svc-gateway', 'svc-agent']);
  },
);

test('SHA256SUMS has the digest of every file, and nothing else lies beside it', async () => {
  const sums = readFileSync(join(first.folder, 'SHA256SUMS'), 'utf8').trim().split('\n');
  const files = (await readdir(first.folder)).filter((file) => file !== 'SHA256SUMS');
  expect(sums.map((line) => line.slice(66)).toSorted()).toEqual(files.toSorted());
  for (const line of sums) {
    const digest = createHash('sha256').update(readFileSync(join(first.folder, line.slice(66))));
    expect(line.slice(0, 64)).toBe(digest.digest('hex'));
  }
});

describe('the bills of materials', () => {
  const schemas = join(
    dirname(createRequire(import.meta.url).resolve('@cyclonedx/cyclonedx-library/package.json')),
    'res/schema',
  );
  const schema = (name: string): object =>
    JSON.parse(readFileSync(join(schemas, `${name}.SNAPSHOT.schema.json`), 'utf8'));
  const ajv = addFormats.default(
    new Ajv({ strict: false, formats: { 'iri-reference': true, 'idn-email': true } }),
  );
  // By the names that this schema has for them.
  for (const name of ['spdx', 'jsf-0.82']) {
    ajv.addSchema(schema(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`);
  }
  const validate = ajv.compile(schema('bom-1.6'));
  const licences = readFileSync(join(ROOT, 'dist/THIRD_PARTY_LICENSES'), 'utf8');
  const read = (file: string): Record<string, unknown> =>
    JSON.parse(readFileSync(join(first.folder, file), 'utf8'));

  test.each(madeFiles(first, 'sbom'))('%s follows the schema', (file) => {
    expect(validate(read(file)) ? [] : validate.errors).toEqual([]);
  });

  test('together they name the software of THIRD_PARTY_LICENSES, each in its version', () => {
    const purls = madeFiles(first, 'sbom').flatMap((file) => [
      ...JSON.stringify(read(file)).matchAll(/"purl":"pkg:npm\/([^"]+)"/g),
    ]);
    const named = new Set(purls.map(([, purl = '']) => decodeURIComponent(purl).replace(/@([^@]+)$/, ' $1')));
    const entries = [...licences.matchAll(/\n-{80}\n(.+)\nLicence: /g)].map(([, title = '']) => title);
    expect([...named].toSorted()).toEqual(entries.filter((title) => !title.includes(', in ')).toSorted());
    expect(named.size).toBeGreaterThan(10);
  });

  test('the gateway has no SQL parser, and the executables have what Node.js holds', () => {
    const names = (file: string): readonly string[] =>
      [...JSON.stringify(read(file)).matchAll(/"name":"([^"]+)"/g)].map(([, name = '']) => name);
    const gateway = madeFiles(first, 'sbom').find((file) => file.startsWith('svc-gateway')) ?? '';
    expect(names(gateway)).toContain('ws');
    expect(names(gateway)).not.toContain('libpg-query');
    const binary = madeFiles(first, 'sbom').find((file) => /^svc-agent-.*-linux-/.test(file));
    if (binary !== undefined)
      expect(names(binary)).toEqual(expect.arrayContaining(['node', 'openssl', 'v8', 'libpg-query']));
  });
});

describe('the licences are in', () => {
  const FILES = /\/(?:LICENSE|THIRD_PARTY_LICENSES|LICENSE\.node)(?:\.gz)?$/;
  const NODE_INSIDE = ['LICENSE', 'LICENSE.node', 'THIRD_PARTY_LICENSES'];
  const listed = (program: string, args: readonly string[]): Promise<readonly string[]> =>
    runProcess(program, args).then(({ stdout }) =>
      stdout
        .split('\n')
        .filter((line) => FILES.test(line))
        .map((line) => line.replace(/^.*\//, '').replace(/\.gz$/, ''))
        .toSorted(),
    );
  const path = (file: string): string => join(first.folder, file);

  test.each(madeFiles(first, 'npm'))('%s', async (file) => {
    expect(await listed('tar', ['-tzf', path(file)])).toEqual(['LICENSE', 'THIRD_PARTY_LICENSES']);
  });
  test.each(madeFiles(first, 'mcpb'))('%s', (file) => {
    const names = Object.keys(unzipSync(readFileSync(path(file))));
    expect(names.filter((name) => FILES.test(`/${name}`)).toSorted()).toEqual([
      'LICENSE',
      'THIRD_PARTY_LICENSES',
    ]);
  });
  test.each(madeFiles(first, 'binary'))('%s', async (file) => {
    expect(await listed('tar', ['-tzf', path(file)])).toEqual(NODE_INSIDE);
  });
  test.each(madeFiles(first, 'deb'))('%s', async (file) => {
    expect(await listed('dpkg-deb', ['-c', path(file)])).toEqual(NODE_INSIDE);
  });
  test.skipIf(lacks('rpm')).each(madeFiles(first, 'rpm'))('%s', async (file) => {
    expect(await listed('rpm', ['-qpl', path(file)])).toEqual(NODE_INSIDE);
  });
});

test.skipIf(lacks('tar')).each(madeFiles(first, 'npm'))(
  '%s names neither folders of the machine that made it nor source maps',
  (file) => {
    const text = execFileSync('tar', ['-xzOf', join(first.folder, file)], { maxBuffer: 2 ** 26 });
    expect(text.length).toBeGreaterThan(10_000_000);
    const traces = [ROOT, `${homedir()}/`, `${tmpdir()}/svc-`, 'sourceMappingURL=data'];
    expect(traces.filter((trace) => text.includes(trace))).toEqual([]);
  },
);

// It judges one package with one core, for half a minute.
test.skipIf(lacks('lintian')).concurrent.each(madeFiles(first, 'deb'))(
  'lintian finds nothing in %s',
  async (file) => {
    const { code, stdout } = await runProcess(
      'lintian',
      ['--fail-on', 'error,warning', join(first.folder, file)],
      {
        env: { LC_ALL: 'C' },
        withinMs: 300_000,
      },
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  },
);
