import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runProcess } from '../../packages/testkit/src/index.ts';

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));

// Inside the repository, where vitest is found.
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(root, 'node_modules', '.reporter-'));
});
afterEach(() => rm(folder, { recursive: true }));

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a file of these tests, where each of these tags stands for a promise. */
async function run(tests: string, tags: readonly string[], ...args: readonly string[]): Promise<Ran> {
  await writeFile(join(folder, 'a.check.ts'), `import { expect, test } from 'vitest';\n${tests}`);
  const reporter = JSON.stringify(join(here, 'reporter.ts'));
  const known = JSON.stringify(tags.map((name) => ({ name, description: `what ${name} promises` })));
  const config = `import Reporter from ${reporter};
    export default { test: { include: ['*.check.ts'], reporters: [new Reporter(['an engine'])], tags: ${known} } };`;
  await writeFile(join(folder, 'vitest.config.mjs'), config);
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const { code, stdout, stderr } = await runProcess(
    process.execPath,
    [vitest, 'run', '--root', folder, ...args],
    { env: { NO_COLOR: '1' } },
  );
  return { code, output: stdout + stderr };
}

test('a report names what was skipped and failed, and no folder of the machine', async () => {
  const { code, output } = await run(
    `test('good', () => {});
     test.skip('left out', () => {});
     test('bad', () => expect(1).toBe(2));`,
    [],
  );
  expect(code).toBe(1);
  expect(output).toContain('SKIPPED: 1 test(s) did not run');
  expect(output).toContain('a.check.ts > left out');
  expect(output).toContain('a.check.ts > bad');
  expect(output).toContain('\n1 passed, 1 failed, 1 skipped\n');
  expect(output).not.toContain(root);
});

test('a whole run names what it could not try, and the files that took longest; a part does not', async () => {
  const tests = `test('slow', () => new Promise((resolve) => setTimeout(resolve, 1100)));`;
  await writeFile(join(folder, 'b.check.ts'), `import { test } from 'vitest';\n${tests}`);
  const whole = await run(tests, []);
  expect(whole.output).toContain('NOT TRIED: an engine');
  expect(whole.output).toMatch(/TIMES: .*\n +\d+\.\d {2}[ab]\.check\.ts\n +\d+\.\d {2}[ab]\.check\.ts\n/);
  expect((await run(tests, [], 'a.check.ts')).output).not.toContain('NOT TRIED');
});

test('a whole run fails when no test of a tag has passed', async () => {
  const tests = `test('good', { tags: ['a:proven'] }, () => {});
                 test.skip('left out', { tags: ['a:skipped'] }, () => {});`;
  const { code, output } = await run(tests, ['a:proven', 'a:skipped', 'a:forgotten']);
  expect(code).toBe(1);
  expect(output).toContain('UNPROVEN: 2 tag(s) without a test that passed');
  expect(output).toContain('a:skipped: what a:skipped promises');
  expect(output).toContain('a:forgotten: what a:forgotten promises');
  expect(output).not.toContain('what a:proven promises');
});

test.each([['a.check.ts'], ['--tags-filter=a:proven'], ['-t', 'good']])(
  'a run of a part, by %s, proves a part',
  async (...args) => {
    const tests = `test('good', { tags: ['a:proven'] }, () => {});`;
    await writeFile(join(folder, 'b.check.ts'), `import { test } from 'vitest';\ntest('another', () => {});`);
    expect(await run(tests, ['a:proven', 'a:forgotten'], ...args)).toMatchObject({ code: 0 });
  },
);
