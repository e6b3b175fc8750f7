import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { buildExecutables } from './bundle.mjs';
import { install, npm, readJson, root } from './install.mjs';
import { chosenOf, readOptions, unknownOnly } from './read-options.mjs';

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
  await install();
  await buildExecutables();
  await installVersions(majors);
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

async function installVersions(majors) {
  const { packages } = readJson(`${folder}/package-lock.json`);
  const isThere = (major) => {
    const path = `node_modules/postgres-${major}-${machine}`;
    try {
      return readJson(`${folder}/${path}/package.json`).version === packages[path].version;
    } catch {
      return false;
    }
  };
  if (majors.every(isThere)) return;
  const started = performance.now();
  process.stderr.write(`Installing PostgreSQL ${majors.join(', ')} (some 60 MB each version) ...\n`);
  const { code, output } = await npm(['ci', '--include=optional'], join(root, folder));
  if (code !== 0 || !majors.every(isThere)) {
    process.stderr.write(
      `${output}\ncannot install PostgreSQL in ${folder}: npm ended with ${code}, see above.\n`,
    );
    process.exit(1);
  }
  process.stderr.write(`Installed them in ${seconds(started)}\n`);
}

/** Shows what vitest wrote only when something failed. */
async function testOn(major, oldest) {
  const started = performance.now();
  process.stderr.write(`PostgreSQL ${major} ...\n`);
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const files = major === oldest ? [...DATABASE, ...PROGRAMS] : DATABASE;
  const { code, output } = await run(process.execPath, [vitest, 'run', ...files], {
    SVC_TEST_POSTGRES: major,
  });
  if (code !== 0 && !stopped) process.stdout.write(output);
  const skipped = output.split('\n').filter((line) => /^ {3}\S.* > /.test(line));
  const counts = /^(\d+) passed, (\d+) failed, (\d+) skipped$/m.exec(output)?.slice(1).map(Number);
  const [passed, failed] = counts ?? [];
  const result =
    counts === undefined ? 'did not finish' : `${passed} passed, ${failed} failed, ${counts[2]} skipped`;
  const line = `PostgreSQL ${major}  ${result}  ${seconds(started)}`;
  process.stderr.write(`${[line, ...skipped.map((name) => `  skipped: ${name.trim()}`)].join('\n')}\n`);
  return { code, counts: counts ?? [0, 1, 0], line };
}

function run(command, args, env) {
  // A group of its own: Ctrl-C reaches it once, through us.
  const child = spawn(command, args, {
    cwd: root,
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env, NO_COLOR: '1', FORCE_COLOR: '0' },
  });
  children.add(child);
  let output = '';
  const collect = (chunk) => (output += chunk);
  child.stdout.setEncoding('utf8').on('data', collect);
  child.stderr.setEncoding('utf8').on('data', collect);
  return new Promise((resolve) => {
    child.once('error', (error) => (output += error.message));
    child.once('close', (code, signal) => {
      children.delete(child);
      resolve({ code: code ?? signal, output });
    });
  });
}

/** One line over all versions, as the reporter writes it for one. */
function total(outcomes) {
  const [passed, failed, skipped] = [0, 1, 2].map((index) =>
    outcomes.reduce((sum, { counts }) => sum + counts[index], 0),
  );
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

function seconds(since) {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
