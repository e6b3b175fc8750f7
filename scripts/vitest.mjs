import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './install.mjs';

export const VITEST = join(root, 'node_modules/vitest/vitest.mjs');

/** Runs vitest in this process, so that a signal to this process reaches it. `project`: the only one to run, of those that need programs. */
export async function runVitest(args, project) {
  process.chdir(root);
  if (project !== undefined) process.env.SVC_TEST_PROJECT = project;
  process.argv = [process.argv[0], VITEST, 'run', ...args];
  await import(pathToFileURL(VITEST).href);
}
