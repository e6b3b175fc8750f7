import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './install.mjs';

/** Runs vitest in this process, so that a signal to this process reaches it. `project`: the only one to run, of those that need programs. */
export async function runVitest(args, project) {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  process.chdir(root);
  if (project !== undefined) process.env.SVC_TEST_PROJECT = project;
  process.argv = [process.argv[0], vitest, 'run', ...args];
  await import(pathToFileURL(vitest).href);
}
