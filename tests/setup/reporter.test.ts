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

test('a report names what was skipped and failed, and no folder of the machine', async () => {
  await writeFile(
    join(folder, 'a.check.ts'),
    `import { expect, test } from 'vitest';
     test('good', () => {});
     test.skip('left out', () => {});
     test('bad', () => expect(1).toBe(2));`,
  );
  const config = `export default { test: { include: ['*.check.ts'], reporters: [${JSON.stringify(join(here, 'reporter.ts'))}] } };`;
  await writeFile(join(folder, 'vitest.config.mjs'), config);
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const { code, stdout, stderr } = await runProcess(process.execPath, [vitest, 'run', '--root', folder], {
    env: { NO_COLOR: '1' },
  });
  expect(code).toBe(1);
  expect(stdout).toContain('SKIPPED: 1 test(s) did not run');
  expect(stdout).toContain('a.check.ts > left out');
  expect(stdout + stderr).toContain('a.check.ts > bad');
  expect(stdout + stderr).not.toContain(root);
});
