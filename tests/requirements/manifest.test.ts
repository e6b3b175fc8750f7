import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createVitest } from 'vitest/node';
import { requirements } from './manifest.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('every requirement has a test that runs, and every id is there once', { timeout: 120_000 }, async () => {
  const ids = requirements.map(({ id }) => id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  expect(ids.length).toBeGreaterThan(200);

  const proven = await tagsOfTests();
  expect(ids.filter((id) => !proven.has(id))).toEqual([]);
});

async function tagsOfTests(): Promise<ReadonlySet<string>> {
  const vitest = await createVitest('test', { root, watch: false, reporters: [{}] });
  // Only files with tags are loaded: loading all takes long.
  const files = (await vitest.globTestSpecifications()).filter(({ moduleId }) =>
    /\btags\b/.test(readFileSync(moduleId, 'utf8')),
  );
  const { testModules, unhandledErrors } = await vitest.collectTests(files);
  await vitest.close();
  expect(unhandledErrors).toEqual([]);
  const tests = testModules.flatMap((module) => [...module.children.allTests()]);
  return new Set(tests.filter(({ options }) => options.mode === 'run').flatMap(({ tags }) => tags));
}
