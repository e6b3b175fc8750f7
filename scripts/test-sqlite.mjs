import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { buildExecutables } from './bundle.mjs';
import { install, root } from './install.mjs';
import { chosenOf, readOptions, unknownOnly } from './read-options.mjs';
import { installNodes, NODE_LINES } from './sqlite-nodes.mjs';

const usage = `Usage: npm run test:sqlite [-- --only 22.16,24] [-- ARGUMENTS OF VITEST]

Runs the tests of the driver of SQLite on each of these lines of Node.js, which have SQLite in them. They are downloaded
from the registry of npm, below .cache; Linux only. It names each line that it cannot download.
`;

const { values, positionals } = readOptions(
  usage,
  { only: { type: 'string' } },
  { allowPositionals: true, fault: ({ only }) => unknownOnly(only, NODE_LINES) },
);
await install();
await buildExecutables();
const programs = await installNodes(chosenOf(values.only, NODE_LINES));
if (programs.length === 0) {
  process.stderr.write('no Node.js that has SQLite: nothing was tested\n');
  process.exit(1);
}

const vitest = join(root, 'node_modules/vitest/vitest.mjs');
for (const program of programs) {
  const { status } = spawnSync(program, [vitest, 'run', ...positionals], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, SVC_TEST_PROJECT: 'sqlite' },
  });
  if (status !== 0) process.exitCode = 1;
}
