import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createReleasers,
  databaseUrl,
  runProcess,
  startPostgres,
  startProcess,
  SVC_AGENT,
  SVC_GATEWAY,
  temporaryFolder,
  type Postgres,
  type RunningProcess,
} from '@svc/testkit';
import { table } from '../scripts/docs/markdown.ts';
import { manyTables, SAMPLES } from '../tests/samples/samples.ts';
import { readOptions, say } from './report/options.ts';
import { quantile } from './report/statistics.ts';

const USAGE = `Usage: npm run bench:workbench [-- --rounds N --saves N] [--json]

How long the commands of who writes capability files take: init, try, and from a save to what dev serves of it. Medians of N
rounds (default 5), and the 95th percentile of N saves (default 40). It takes a minute and a quiet machine.

Ends with 1 when a goal is missed, 2 for wrong usage.
`;

const FILM = 'pagila';
const MANY = 'many_tables';
const SAVED_CAPABILITIES = 100;

interface Figure {
  readonly what: string;
  readonly ms: number;
  readonly goalMs: number;
}

export async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(USAGE, args, { rounds: [5, 1000], saves: [40, 10_000] });
  if (typeof options === 'number') return options;
  const figures = await measure(options.number('rounds'), options.number('saves'));
  const lines = figures.map(({ what, ms, goalMs }) => [what, seconds(ms), seconds(goalMs)]);
  const columns = ['what', 'time', 'goal'];
  process.stdout.write(`${options.json ? JSON.stringify({ figures }) : table(columns, lines)}\n`);
  return figures.every(({ ms, goalMs }) => ms <= goalMs) ? 0 : 1;
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;

async function measure(rounds: number, saves: number): Promise<readonly Figure[]> {
  const releasers = createReleasers();
  try {
    const server = await startPostgres();
    await releasers.add(() => server.stop());
    const pagila = SAMPLES.find(({ name }) => name === FILM)?.sql ?? '';
    for (const [name, sql] of [
      [FILM, pagila],
      [MANY, manyTables(300)],
    ] as const) {
      await server.createDatabase(name);
      await server.execute(name, sql);
    }
    const folder = await temporaryFolder('workbench-bench');
    await releasers.add(() => folder.remove());
    await copyFile(SVC_AGENT, join(folder.path, 'svc-agent'));
    await copyFile(SVC_GATEWAY, join(folder.path, 'svc-gateway'));
    const first: number[] = [];
    const many: number[] = [];
    const tries: number[] = [];
    for (let round = 0; round < rounds; round++) {
      say(`round ${round + 1} of ${rounds}`);
      first.push(await firstAnswer(server, folder.path, `first_${round}`));
      many.push(await timed(() => init(server, folder.path, MANY, `many_${round}`)));
      const file = join(folder.path, `first_${round}`, 'capability.yaml');
      tries.push(
        await timed(() => agent(folder.path, ['try', 'get_film', '-p', 'film_id=1', '--config', file])),
      );
    }
    say(`${saves} saves`);
    // Each round makes the account again, with another password: these are of the last round.
    const file = join(folder.path, `first_${rounds - 1}`, 'capability.yaml');
    const served = await saveToServed(folder.path, file, saves);
    return [
      {
        what: 'a foreign database to the first answer: init, dev, call',
        ms: quantile(first, 0.5),
        goalMs: 60_000,
      },
      { what: 'init of 300 tables', ms: quantile(many, 0.5), goalMs: 10_000 },
      { what: 'try', ms: quantile(tries, 0.5), goalMs: 1000 },
      {
        what: `dev: a save of one of ${SAVED_CAPABILITIES} to served, 95th percentile`,
        ms: quantile(served, 0.95),
        goalMs: 1000,
      },
    ];
  } finally {
    await releasers.closeAll();
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

async function agent(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { code, stderr } = await runProcess(process.execPath, [join(folder, 'svc-agent'), ...args], {
    cwd: folder,
    env,
  });
  if (code !== 0) throw new Error(`svc-agent ${args.join(' ')} ended with ${code}: ${stderr}`);
}

/** Creates an account of its own if `more` says so. */
async function init(
  server: Postgres,
  folder: string,
  database: string,
  dir: string,
  more: readonly string[] = [],
): Promise<void> {
  const env = { DATABASE_URL: databaseUrl(server, database) };
  await agent(folder, ['init', '--dir', dir, ...more], env);
}

async function firstAnswer(server: Postgres, folder: string, dir: string): Promise<number> {
  const role = `svc_reader_${FILM}`;
  const drop = `drop owned by ${role}; drop role ${role};`;
  await server.execute(
    FILM,
    `do $$ begin if exists (select from pg_roles where rolname = '${role}') then ${drop} end if; end $$`,
  );
  return timed(async () => {
    await init(server, folder, FILM, dir, ['--create-account', '--yes']);
    const dev = await startDev(folder, join(folder, dir, 'capability.yaml'));
    const { code, stdout } = await runProcess('sh', ['-c', dev.curl]);
    if (code !== 0 || !stdout.includes('"rows"')) throw new Error(`no rows: ${stdout}`);
    await dev.process.stop();
  });
}

async function startDev(
  folder: string,
  file: string,
): Promise<{ readonly process: RunningProcess; readonly curl: string }> {
  const args = [join(folder, 'svc-agent'), 'dev', '--json', '--port', '0', '--config', file];
  const dev = await startProcess(process.execPath, args, { cwd: folder });
  const ready: { curl: string } = JSON.parse(
    await dev.waitForLine((line) => line.includes('"event":"ready"'), 60_000),
  );
  return { process: dev, curl: ready.curl };
}

/** Milliseconds from each save to the record that says it is served. */
async function saveToServed(folder: string, file: string, saves: number): Promise<readonly number[]> {
  const text = await readFile(file, 'utf8');
  const head = text.slice(0, text.indexOf('\ncapabilities:'));
  const save = (edition: number): Promise<void> =>
    writeFile(
      file,
      `${head}\ncapabilities:\n${Array.from(
        { length: SAVED_CAPABILITIES },
        (_, index) => `  one_of_${index}:
    description: The title of a film
    sql: select title, ${index === 0 ? edition : 0} as edition from film where film_id = :id
    params: { id: { type: integer, required: true } }
    result: { title: { type: string }, edition: { type: integer } }
`,
      ).join('')}`,
    );
  await save(0);
  const dev = await startDev(folder, file);
  const took: number[] = [];
  for (let edition = 1; edition <= saves; edition++) {
    let served = 0;
    took.push(
      await timed(async () => {
        await save(edition);
        await dev.process.waitForLine(
          (line) => /"event":"(?:served|refused)"/.test(line) && ++served === edition,
          30_000,
        );
      }),
    );
  }
  const output = dev.process.output('stdout');
  await dev.process.stop();
  if (output.includes('"event":"refused"')) throw new Error(`a save was refused: ${output}`);
  return took;
}
