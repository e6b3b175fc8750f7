import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createReleasers, startPostgres, type Postgres, type Releasers } from '@svc/testkit';
import { stopRequest } from '../examples/start-stop-request.ts';
import { replacePart } from '../scripts/docs/markdown.ts';
import { answerOf, casesOf, checkAnswers, pgbenchCase, whyNoPgbench, type Case } from './compare-cases.ts';
import { judgeGoals } from './compare-goals.ts';
import { measure } from './compare-measure.ts';
import { charts, compareReport, documentText, PAGES, type CompareDocument } from './compare-report.ts';
import { WORKLOADS } from './compare-workloads.ts';
import { BOOKS_DATABASE, BOOKS_SQL } from './contestants/books.ts';
import {
  CONTESTANTS,
  DATABASE_CONNECTIONS,
  type Contestant,
  type ContestantName,
} from './contestants/contestant.ts';
import { installPeers } from './contestants/install-peers.ts';
import { OWN_NODE } from './contestants/node-executable.ts';
import { startFastify, startNodeHttp } from './contestants/node-servers.ts';
import { startSameTopology, whyNoSameTopology } from './contestants/same-topology/same-topology.ts';
import { startSvc } from './contestants/svc.ts';
import { postgresSource, startToolbox, whyNoToolbox } from './contestants/toolbox.ts';
import { whyNoLoad } from './load/wrk.ts';
import { machine, version } from './report/machine.ts';
import { readOptions, say } from './report/options.ts';

const USAGE = `Usage: npm run bench [-- --rounds N --seconds S --only NAME,... --node PATH --json --write]

Measures this service beside the same topology built from nginx, ssh and MCP Toolbox, beside MCP Toolbox as it is, a
hand-written Fastify service, a bare node:http server and pgbench, in interleaved rounds, and judges the goals. Wants a
quiet machine with Linux, wrk, nginx and OpenSSH's server; the peers are installed the first time. Some ten minutes, and
a minute more for each further Node.js.

  --rounds N    rounds, whose medians are shown (default 5)
  --seconds S   of each measurement (default 3)
  --only ...    these contestants and workloads only:
                  ${CONTESTANTS.join(', ')}
                  ${WORKLOADS.map(({ name }) => name).join(', ')}
  --node PATH   runs the service and the peers in Node.js with this executable, instead of the one that runs this; given
                more than once, the service is also measured with each further one
  --json        print the results as JSON, instead of the tables
  --write       write docs/performance/bench.json, the charts and the tables of details.md beside it, and the table of
                docs/performance.md; not with --only

Ends with 0 when every goal that was measured is met, whatever becomes of the aims; 1 when one is missed or something
failed; 2 for wrong usage or a missing program.
`;

const OUTPUT = fileURLToPath(new URL('../docs/performance', import.meta.url));
const DOCS = dirname(OUTPUT);

type CompareOptions = Exclude<ReturnType<typeof readCompareOptions>, number>;

/** Of the contestants and of the workloads: those that are named; all of a kind when none of it is. */
function readCompareOptions(args: readonly string[]) {
  const names = [...CONTESTANTS, ...WORKLOADS.map(({ name }) => name)];
  const more = { names, node: true, write: true };
  const options = readOptions(USAGE, args, { rounds: [5, 1000], seconds: [3, 600] }, more);
  if (typeof options === 'number') return options;
  const workloads = WORKLOADS.filter(({ name }) => options.only.includes(name));
  const contestants = CONTESTANTS.filter((name) => options.only.includes(name));
  return {
    ...options,
    workloads: workloads.length === 0 ? WORKLOADS : workloads,
    contestants: new Set<ContestantName>(contestants.length === 0 ? CONTESTANTS : contestants),
  };
}

/** Resolves to the exit code: those of the usage, 130 after a signal. */
export async function main(args: readonly string[]): Promise<number> {
  const options = readCompareOptions(args);
  if (typeof options === 'number') return options;
  const problem = whyNot(options);
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

function whyNot({ workloads, contestants }: CompareOptions): string | undefined {
  if (process.platform !== 'linux') return 'cannot measure: CPU time is read from /proc of Linux';
  if (workloads.every((each) => !each.contestants.some((name) => contestants.has(name)))) {
    return '--only: none of these contestants has one of these workloads';
  }
  return whyNoLoad() ?? (contestants.has('same-topology') ? whyNoSameTopology() : undefined);
}

async function run(options: CompareOptions, releasers: Releasers): Promise<number> {
  const started = performance.now();
  const [rounds, seconds] = [options.number('rounds'), options.number('seconds')];
  // A page without the markers is known before it has taken a quarter of an hour.
  if (options.write) await renderPages(() => '');
  const postgres = await startBooks(releasers);
  const contestants = await startContestants(options, postgres, releasers);
  say('checking that all answer the same, and that keys are checked');
  await checkAnswers(contestants);
  const measured = await measure(
    await casesToMeasure(options, contestants, postgres, releasers),
    postgres,
    { rounds, seconds },
    say,
  );
  const postgresVersion = /PostgreSQL (\d+[.\d]*)/.exec(postgres.output())?.[1] ?? 'unknown';
  const document: CompareDocument = {
    machine: await machine(options.nodes[0]?.version ?? '', postgresVersion),
    run: { version: await version(), rounds, seconds, databaseConnections: DATABASE_CONNECTIONS },
    contestants: contestants.map(({ name, title, settings }) => ({ name, title, settings })),
    goals: judgeGoals(measured),
    cases: measured,
  };
  process.stdout.write(options.json ? documentText(document) : compareReport(document));
  if (options.write) await write(document);
  say(`ended after ${Math.round((performance.now() - started) / 1000)} s`);
  return document.goals.some(({ kind, isMet }) => kind === 'goal' && isMet === false) ? 1 : 0;
}

/** The message, and those of what caused it. */
function explained(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${explained(error.cause)}`;
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
  { contestants: chosen, nodes: [node = OWN_NODE, ...otherNodes] }: CompareOptions,
  postgres: Postgres,
  releasers: Releasers,
): Promise<readonly Contestant[]> {
  const contestants: Contestant[] = [];
  if (chosen.has('same-topology') || chosen.has('toolbox') || chosen.has('fastify')) await installPeers();
  say('starting the contestants');
  if (chosen.has('svc')) {
    const database = { ...postgres, name: BOOKS_DATABASE };
    contestants.push(await startSvc('svc', database, node, releasers));
    for (const other of otherNodes) {
      contestants.push(await startSvc('svc-other-node', database, other, releasers));
    }
  }
  const noToolbox = whyNoToolbox();
  for (const name of ['same-topology', 'toolbox'] as const) {
    if (!chosen.has(name)) continue;
    if (noToolbox !== undefined) say(`SKIPPED ${name}: ${noToolbox}`);
    else if (name === 'toolbox') contestants.push(await startToolbox(postgresSource(postgres), releasers));
    else contestants.push(await startSameTopology(postgres, releasers));
  }
  if (chosen.has('fastify')) contestants.push(await startFastify(postgres, node, releasers));
  // It repeats what another says, so that its answers are of the same size.
  const [model] = contestants;
  const [face] = model?.faces ?? [];
  if (chosen.has('node-http') && model !== undefined && face !== undefined) {
    const point = await answerOf(model, face, 'point', 500);
    const list = await answerOf(model, face, 'list', 500);
    contestants.push(await startNodeHttp({ point, list }, node, releasers));
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
  const noPgbench = whyNoPgbench();
  const cases: Case[] = [];
  for (const workload of workloads) {
    cases.push(...casesOf(workload, contestants));
    if (!chosen.has('pgbench') || !workload.contestants.includes('pgbench')) continue;
    if (noPgbench === undefined) cases.push(await pgbenchCase(workload, postgres, releasers));
    else say(`SKIPPED pgbench: ${noPgbench}`);
  }
  return cases;
}

async function write(document: CompareDocument): Promise<void> {
  const files = { 'bench.json': documentText(document), ...charts(document) };
  await mkdir(OUTPUT, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(OUTPUT, name), text);
  const pages = await renderPages((part) => part(document));
  for (const [path, text] of pages) await writeFile(join(DOCS, path), text);
  say(
    `wrote ${pages.map(([path]) => `docs/${path}`).join(', ')} and docs/performance/: ${Object.keys(files).join(', ')}`,
  );
}

type Part = (document: CompareDocument) => string;

/** Each page with its path; fails when one lacks the markers of a part. */
function renderPages(content: (part: Part) => string): Promise<readonly (readonly [string, string])[]> {
  return Promise.all(
    Object.entries(PAGES).map(async ([path, parts]) => {
      const page = await readFile(join(DOCS, path), 'utf8');
      const rendered = Object.entries(parts).reduce(
        (text, [name, part]) => replacePart(text, name, content(part)),
        page,
      );
      return [path, rendered] as const;
    }),
  );
}
