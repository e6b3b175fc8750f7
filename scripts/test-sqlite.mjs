import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installAndBuild } from './bundle.mjs';
import { root } from './install.mjs';
import { downloadNode } from './packages/node-binary.mjs';
import { chosenOf, readOptions, unknownOnly } from './read-options.mjs';
import { VITEST } from './vitest.mjs';

/** The lines of Node.js that the driver of SQLite is tested on: the oldest that it takes, and the newest of two. */
const NODE_LINES = ['22.16', '22', '24'];

const usage = `Usage: npm run test:sqlite [-- --only 22.16,24] [-- ARGUMENTS OF VITEST]

Runs the tests of the driver of SQLite on each of these lines of Node.js, which have SQLite in them. They are downloaded
from the registry of npm, below .cache; Linux only. It names each line that it cannot download.
`;

const { values, positionals } = readOptions(
  usage,
  { only: { type: 'string' } },
  { allowPositionals: true, fault: ({ only }) => unknownOnly(only, NODE_LINES) },
);
await installAndBuild();
const programs = [];
for (const line of chosenOf(values.only, NODE_LINES)) {
  const folder = join(root, '.cache/sqlite-nodes', line);
  const program = join(folder, 'bin/node');
  try {
    if (!existsSync(program)) await downloadNode(line, folder, ['bin/node']);
    programs.push(program);
  } catch (error) {
    process.stderr.write(`\nSKIPPED: Node.js ${line}: ${error.message}\n\n`);
  }
}
if (programs.length === 0) {
  process.stderr.write('no Node.js that has SQLite: nothing was tested\n');
  process.exit(1);
}

for (const program of programs) {
  const { status } = spawnSync(program, [VITEST, 'run', ...positionals], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, SVC_TEST_PROJECT: 'sqlite' },
  });
  if (status !== 0) process.exitCode = 1;
}
