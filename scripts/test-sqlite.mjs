import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildExecutables } from './bundle.mjs';
import { install, root } from './install.mjs';
import { installNodes, NODE_LINES } from './sqlite-nodes.mjs';

const usage = `Usage: npm run test:sqlite [-- --only 22.16,24] [-- ARGUMENTS OF VITEST]

Runs the tests of the driver of SQLite on each of these lines of Node.js, which have SQLite in them. They are downloaded
from the registry of npm, below .cache; Linux only. One that cannot be had is skipped by name.
`;

const { values, positionals } = parseArgs({
  options: { only: { type: 'string' }, help: { type: 'boolean' } },
  allowPositionals: true,
});
const lines = values.only?.split(',') ?? NODE_LINES;
const unknown = lines.filter((line) => !NODE_LINES.includes(line));
if (values.help === true || unknown.length > 0) {
  (unknown.length > 0 ? process.stderr : process.stdout).write(usage);
  process.exit(unknown.length > 0 ? 2 : 0);
}
await install();
await buildExecutables();
const programs = await installNodes(lines);
if (programs.length === 0) {
  process.stderr.write('no Node.js that has SQLite: nothing was tested\n');
  process.exit(1);
}

const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const config = join(root, 'tests/sqlite/vitest.config.mts');
for (const program of programs) {
  const { status } = spawnSync(program, [vitest, 'run', '--config', config, ...positionals], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exitCode = 1;
}
