import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createReleasers, startPostgres, temporaryFolder, type Postgres, type Releasers } from '@svc/testkit';
import { stopRequest } from '../examples/start-stop-request.ts';
import { answerOf, casesOf, checkAnswers, pgbenchCase, type Case } from './compare-cases.ts';
import { judgeGoals, type JudgedGoal } from './compare-goals.ts';
import { measure, type Results } from './compare-measure.ts';
import { readCompareOptions, type CompareOptions } from './compare-options.ts';
import { charts, goalsTable, resultsTable } from './compare-report.ts';
import { BOOKS_DATABASE, BOOKS_SQL } from './contestants/books.ts';
import { DATABASE_CONNECTIONS, type Contestant } from './contestants/contestant.ts';
import { startFastify } from './contestants/fastify.ts';
import { installPeers } from './contestants/install-peers.ts';
import { startNodeHttp } from './contestants/node-http.ts';
import { whyNoPgbench } from './contestants/pgbench.ts';
import { startSvc } from './contestants/svc.ts';
import { startToolbox, whyNoToolbox } from './contestants/toolbox.ts';
import { whyNoLoad } from './load/wrk.ts';
import { machine, type Machine } from './report/machine.ts';

const OUTPUT = fileURLToPath(new URL('../docs/performance', import.meta.url));

/** Resolves to the exit code: 0, 1 when a goal is missed or something failed, 2 for wrong usage or a missing wrk, 130 after a signal. */
export async function main(args: readonly string[]): Promise<number> {
  const options = readCompareOptions(args);
  if (typeof options === 'number') return options;
  const problem =
    process.platform === 'linux' ? whyNoLoad() : 'cannot measure: CPU time is read from /proc of Linux';
  if (problem !== undefined) {
    say(problem);
    return 2;
  }
  const stop = stopRequest();
  const releasers = createReleasers();
  try {
    // A measurement under way goes on until its programs are gone; nobody waits for it.
    return await Promise.race([run(options, releasers), stop.requested.then(() => 130)]);
  } catch (error) {
    say(explained(error));
    return 1;
  } finally {
    await releasers.closeAll();
    stop.close();
  }
}

async function run(options: CompareOptions, releasers: Releasers): Promise<number> {
  const started = performance.now();
  const postgres = await startBooks(releasers);
  const contestants = await startContestants(options, postgres, releasers);
  say('checking that all answer the same');
  await checkAnswers(contestants);
  const cases = await casesToMeasure(options, contestants, postgres, releasers);
  const results = await measure(cases, postgres, options, say);
  const goals = judgeGoals(results);
  const facts = await machine(/PostgreSQL (\d+[.\d]*)/.exec(postgres.output())?.[1] ?? 'unknown');
  const json = asJson(facts, options, contestants, results, goals);
  if (options.json) process.stdout.write(json);
  else process.stdout.write(asText(facts, contestants, results, goals));
  if (options.write) await write({ 'bench.json': json, ...charts(results) });
  say(`ended after ${Math.round((performance.now() - started) / 1000)} s`);
  return goals.every(({ isMet }) => isMet) ? 0 : 1;
}

/** The message, and those of what caused it. */
function explained(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${explained(error.cause)}`;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function startBooks(releasers: Releasers): Promise<Postgres> {
  say('starting PostgreSQL');
  const postgres = await startPostgres();
  await releasers.add(() => postgres.stop());
  await postgres.createDatabase(BOOKS_DATABASE);
  await postgres.execute(BOOKS_DATABASE, BOOKS_SQL);
  return postgres;
}

async function startContestants(
  { contestants: chosen }: CompareOptions,
  postgres: Postgres,
  releasers: Releasers,
): Promise<readonly Contestant[]> {
  const contestants: Contestant[] = [];
  const add = async (starting: Promise<Contestant>): Promise<void> => {
    const contestant = await starting;
    await releasers.add(() => contestant.stop());
    contestants.push(contestant);
  };
  if (chosen.has('toolbox') || chosen.has('fastify')) await installPeers(say);
  say('starting the contestants');
  if (chosen.has('svc')) await add(startSvc(postgres));
  if (chosen.has('toolbox')) {
    const reason = whyNoToolbox();
    if (reason === undefined) await add(startToolbox(postgres));
    else say(`SKIPPED toolbox: ${reason}`);
  }
  if (chosen.has('fastify')) await add(startFastify(postgres));
  // It repeats what another says, so that its answers are of the same size.
  const [model] = contestants;
  const [face] = model?.faces ?? [];
  if (chosen.has('node-http') && model !== undefined && face !== undefined) {
    const [point, list] = [
      await answerOf(model, face, 'point', 500),
      await answerOf(model, face, 'list', 500),
    ];
    await add(startNodeHttp({ point, list }));
  } else if (chosen.has('node-http')) {
    say('SKIPPED node-http: it repeats the answer of another contestant; name one beside it');
  }
  return contestants;
}

async function casesToMeasure(
  { workloads, contestants: chosen }: CompareOptions,
  contestants: readonly Contestant[],
  postgres: Postgres,
  releasers: Releasers,
): Promise<readonly Case[]> {
  const folder = await temporaryFolder('pgbench');
  await releasers.add(() => folder.remove());
  const noPgbench = whyNoPgbench();
  const wanted = chosen.has('pgbench') && workloads.some((each) => each.contestants.includes('pgbench'));
  if (wanted && noPgbench !== undefined) say(`SKIPPED pgbench: ${noPgbench}`);
  return workloads.flatMap((workload) => [
    ...casesOf(workload, contestants),
    ...(wanted && noPgbench === undefined && workload.contestants.includes('pgbench')
      ? [pgbenchCase(workload, postgres, folder)]
      : []),
  ]);
}

function asText(
  { date, cores, cpu, memoryGigabytes, node, postgres }: Machine,
  contestants: readonly Contestant[],
  results: Results,
  goals: readonly JudgedGoal[],
): string {
  const settings = contestants.map(({ title, settings }) => `${title}: ${settings}\n`).join('');
  const place = `${date}, ${cores} cores (${cpu}), ${memoryGigabytes} GB, Node.js ${node}, PostgreSQL ${postgres}\n`;
  const isColoured = process.stdout.isTTY && process.env['NO_COLOR'] === undefined;
  return `${place}At most ${DATABASE_CONNECTIONS} database connections each.\n${settings}\n${resultsTable(results)}\n${goalsTable(goals, isColoured)}`;
}

function asJson(
  machine: Machine,
  { rounds, seconds }: CompareOptions,
  contestants: readonly Contestant[],
  results: Results,
  goals: readonly JudgedGoal[],
): string {
  const document = {
    machine,
    run: { rounds, seconds, databaseConnections: DATABASE_CONNECTIONS },
    contestants: contestants.map(({ name, title, settings }) => ({ name, title, settings })),
    goals,
    cases: [...results].map(([{ workload, name, contestant, face }, rounds]) => ({
      workload: workload.name,
      title: workload.title,
      connections: workload.connections,
      name,
      contestant,
      face,
      rounds,
    })),
  };
  return `${JSON.stringify(document, (_, value: unknown) => (typeof value === 'number' ? rounded(value) : value), 2)}\n`;
}

/** Six digits say more than any of these figures knows. */
function rounded(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(6)) : null;
}

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(OUTPUT, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(OUTPUT, name), text);
  say(`wrote docs/performance/: ${Object.keys(files).join(', ')}`);
}
