import { spawn } from 'node:child_process';
import { installAndBuild } from './bundle.mjs';
import { ended, installIn, readJson, root, seconds } from './install.mjs';
import { chosenOf, readOptions, unknownOnly } from './read-options.mjs';
import { VITEST } from './vitest.mjs';

const folder = 'tests/postgres-versions';
const machine = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

/** What depends on the server's version. */
const DATABASE = ['packages/agent/src/databases/postgres/'];
/** What the two programs make of it outside. Versions differ below that, so that one old version has these, too. */
const PROGRAMS = [
  'tests/call.test.ts',
  'tests/requirements/account.test.ts',
  'tests/requirements/capability.test.ts',
  'tests/requirements/capability-policy.test.ts',
  'tests/requirements/parameter-types.test.ts',
  'tests/requirements/params.test.ts',
  'tests/requirements/result-types.test.ts',
  'tests/requirements/sql.test.ts',
];
/** Many of these tests wait for the server, which leaves a core to another version. */
const atOnce = 2;
/** What stands for the last line of vitest, and for its three counts, when it is missing. */
const UNFINISHED = ['did not finish', 0, 1, 0];

const usage = `Usage: npm run test:postgres [-- --only 13,16]

Runs the tests that need a database on each major version of PostgreSQL but the newest, which npm test has. The tests of
the programs on it run on the first of them alone.
`;

const children = new Set();
let stopped = false;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    // Once is enough: at the second one vitest would leave its server behind.
    if (!stopped) for (const child of children) child.kill(signal);
    stopped = true;
  });
}
process.exitCode = await main();

async function main() {
  const majors = chooseMajors();
  await installAndBuild();
  await installIn(folder, 'PostgreSQL', 'some 60 MB each version');
  const started = performance.now();
  const outcomes = [];
  const rest = majors.entries();
  const work = async () => {
    for (const [index, major] of rest) {
      if (stopped) break;
      outcomes[index] = await testOn(major, majors[0]);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  process.stdout.write(`\n${outcomes.map(({ line }) => line).join('\n')}\n`);
  process.stdout.write(`${total(outcomes)}\n`);
  process.stderr.write(`${outcomes.length} versions in ${seconds(started)}\n`);
  if (stopped) return 130;
  return outcomes.every(({ code }) => code === 0) ? 0 : 1;
}

/** The versions that there are for this machine, or those that --only names. */
function chooseMajors() {
  const packages = Object.keys(readJson(`${folder}/package.json`).optionalDependencies);
  const known = packages.flatMap((name) => (name.endsWith(machine) ? [name.split('-')[1]] : []));
  const { values } = readOptions(
    usage,
    { only: { type: 'string' } },
    {
      fault: ({ only }) =>
        known.length === 0
          ? `no PostgreSQL for ${machine} in ${folder}/package.json`
          : unknownOnly(only, known),
    },
  );
  return chosenOf(values.only, known);
}

/** Shows what vitest wrote only when something failed. */
async function testOn(major, oldest) {
  const started = performance.now();
  process.stderr.write(`PostgreSQL ${major} ...\n`);
  const files = major === oldest ? [...DATABASE, ...PROGRAMS] : DATABASE;
  // A group of its own: Ctrl-C reaches it once, through us.
  const child = spawn(process.execPath, [VITEST, 'run', ...files], {
    cwd: root,
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, SVC_TEST_POSTGRES: major, NO_COLOR: '1', FORCE_COLOR: '0' },
  });
  children.add(child);
  const { code, output } = await ended(child);
  children.delete(child);
  if (code !== 0 && !stopped) process.stdout.write(output);
  const skipped = output.split('\n').filter((line) => /^ {3}\S.* > /.test(line));
  const [result, ...counts] = /^(\d+) passed, (\d+) failed, (\d+) skipped$/m.exec(output) ?? UNFINISHED;
  const line = `PostgreSQL ${major}  ${result}  ${seconds(started)}`;
  process.stderr.write(`${[line, ...skipped.map((name) => `  skipped: ${name.trim()}`)].join('\n')}\n`);
  return { code, counts: counts.map(Number), line };
}

/** One line over all versions, as the reporter writes it for one. */
function total(outcomes) {
  const [passed, failed, skipped] = [0, 1, 2].map((index) =>
    outcomes.reduce((sum, { counts }) => sum + counts[index], 0),
  );
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
