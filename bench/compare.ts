import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Executables, type Postgres, type Releasers } from '@svc/testkit';
import { replacePart } from '../scripts/docs/markdown.ts';
import { answerOf, casesOf, checkAnswers, pgbenchCase, whyNoPgbench, type Case } from './compare-cases.ts';
import { count } from './compare-counted.ts';
import { LABELS, pageRatios, whyNotQuiet } from './compare-figures.ts';
import { judgeGoals } from './compare-goals.ts';
import { measure } from './compare-measure.ts';
import {
  charts,
  compareReport,
  documentText,
  PAGES,
  readDocument,
  second,
  type CompareDocument,
} from './compare-report.ts';
import { WORKLOADS } from './contestants/workloads.ts';
import { BOOKS_DATABASE, startBooks } from './contestants/books.ts';
import {
  CONTESTANTS,
  DATABASE_CONNECTIONS,
  type Contestant,
  type ContestantName,
} from './contestants/contestant.ts';
import { installPeers } from './contestants/install-peers.ts';
import type { NodeExecutable } from './contestants/node-executable.ts';
import { startFastify, startNodeHttp } from './contestants/node-servers.ts';
import { packageExecutables, RELEASE_BEFORE, releaseBefore } from './contestants/packaged.ts';
import { startSameTopology, whyNoSameTopology } from './contestants/same-topology/same-topology.ts';
import { startServe, startSvc } from './contestants/svc.ts';
import { postgresSource, startToolbox, whyNoToolbox } from './contestants/toolbox.ts';
import { whyNoLoad } from './load/wrk.ts';
import { machine, version } from './report/machine.ts';
import { readOptions, say } from './report/options.ts';
import { untilStopped } from './report/until-stopped.ts';

const USAGE = `Usage: npm run bench [-- --rounds N --seconds S --seed N --only NAME,... --json --write --second]

Measures the packaged executables of this service, twice, beside \`svc serve\`, which is both in one process, the release before,
the same topology built from nginx, ssh and MCP Toolbox, MCP Toolbox as it is, a hand-written Fastify service, a bare node:http
server and pgbench, in rounds whose order is drawn, and judges the goals. Wants a quiet machine with Linux, wrk, nginx and
OpenSSH's server; the peers are installed, and the release before is packaged, the first time. Some twenty-five minutes.

  --rounds N    rounds; ratios are taken within each, and their median is shown with an interval that holds the true one in
                95 of 100 runs (default 20; fewer than 6 have no interval)
  --seconds S   of each measurement (default 1)
  --seed N      draws the order of the measurements (default: another each time)
  --only ...    these contestants and workloads only:
                  ${CONTESTANTS.join(', ')}
                  ${WORKLOADS.map(({ name }) => name).join(', ')}
  --json        print the results as JSON, instead of the tables
  --write       write docs/performance/bench.json, the charts and the tables of details.md beside it, and the figures of
                docs/performance.md; not with --only
  --second      write docs/performance/bench-second.json, and to docs/performance.md whether this run agrees with the one
                that --write has written; not with --only

A measurement is void if processes that have no part in it took over 5 % of the machine meanwhile; it is made again, at most
three times. Ends with 0 when no goal is missed, though some may be open: their bound lies within the interval; 1 when one is
missed or something failed; 2 for wrong usage or a missing program; 3 when the machine is not quiet, with nothing written.
`;

const OUTPUT = fileURLToPath(new URL('../docs/performance', import.meta.url));
const DOCS = dirname(OUTPUT);
const KEPT = join(OUTPUT, 'bench.json');
const SECOND = join(OUTPUT, 'bench-second.json');

type CompareOptions = Exclude<ReturnType<typeof readCompareOptions>, number>;

/** Of the contestants and of the workloads: those that are named; all of a kind when none of it is. */
function readCompareOptions(args: readonly string[]) {
  const names = [...CONTESTANTS, ...WORKLOADS.map(({ name }) => name)];
  const seed = 1 + Math.floor(Math.random() * 999_999);
  const numbers = { rounds: [20, 1000], seconds: [1, 600], seed: [seed, 999_999] } as const;
  const options = readOptions(USAGE, args, numbers, { names, writes: ['write', 'second'] });
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
  return untilStopped((releasers) => run(options, releasers));
}

function whyNot({ workloads, contestants }: CompareOptions): string | undefined {
  if (process.platform !== 'linux') return 'cannot measure: CPU time is read from /proc of Linux';
  if (workloads.every((each) => !each.contestants.some((name) => contestants.has(name)))) {
    return '--only: none of these contestants has one of these workloads';
  }
  return whyNoLoad() ?? (contestants.has('same-topology') ? whyNoSameTopology() : undefined);
}

async function run(options: CompareOptions, releasers: Releasers): Promise<number> {
  const started = new Date();
  const [rounds, seconds, seed] = [
    options.number('rounds'),
    options.number('seconds'),
    options.number('seed'),
  ];
  // A page without the markers, or without figures to compare with, is known before it has taken twenty minutes.
  await renderPages(() => '');
  const kept = options.writes.includes('second') ? await readKept() : undefined;
  say('starting PostgreSQL');
  const postgres = await startBooks(releasers);
  say('packaging the executables');
  const { executables, node } = await packageExecutables(releasers);
  const contestants = await startContestants(options, { postgres, executables, node }, releasers);
  say('checking that all answer the same, and that keys are checked');
  await checkAnswers(contestants);
  const cases = await casesToMeasure(options, contestants, postgres, releasers);
  const measured = await measure(cases, postgres, { rounds, seconds, seed }, say);
  say('counting memory, rollbacks and writes');
  const counted = await count(contestants, cases, postgres);
  const postgresVersion = /PostgreSQL (\d+[.\d]*)/.exec(postgres.output())?.[1] ?? 'unknown';
  const document: CompareDocument = {
    machine: await machine(node.version, postgresVersion),
    run: {
      version: await version(),
      started: `${started.toISOString().slice(0, 16).replace('T', ' ')} UTC`,
      rounds,
      seconds,
      seed,
      databaseConnections: DATABASE_CONNECTIONS,
    },
    contestants: contestants.map(({ name, title, settings }) => ({ name, title, settings })),
    ratios: pageRatios(measured),
    goals: judgeGoals(measured, counted),
    counted,
    cases: measured,
  };
  process.stdout.write(options.json ? documentText(document) : compareReport(document));
  say(`ended after ${Math.round((Date.now() - started.getTime()) / 1000)} s`);
  const notQuiet = whyNotQuiet(measured, rounds);
  if (notQuiet !== undefined) {
    say(notQuiet);
    return 3;
  }
  if (options.writes.includes('write')) await write(document);
  if (kept !== undefined) await writeSecond(kept, document);
  return document.goals.some(({ verdict }) => verdict === 'missed') ? 1 : 0;
}

async function readKept(): Promise<CompareDocument> {
  const kept = readDocument(await readFile(KEPT, 'utf8'));
  if (kept.ratios.length > 0) return kept;
  throw new Error(`cannot compare a second run: ${KEPT} has no ratios; run with --write first`);
}

interface Ground {
  readonly postgres: Postgres;
  readonly executables: Executables;
  /** That of the executables. */
  readonly node: NodeExecutable;
}

async function startContestants(
  { contestants: chosen }: CompareOptions,
  ground: Ground,
  releasers: Releasers,
): Promise<readonly Contestant[]> {
  const { postgres, node } = ground;
  if (chosen.has('same-topology') || chosen.has('toolbox') || chosen.has('fastify')) await installPeers();
  const before = chosen.has('svc-before') ? await releaseBefore(node) : undefined;
  say('starting the contestants');
  const contestants = [...(await startOurs(chosen, ground, before, releasers))];
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

async function startOurs(
  chosen: CompareOptions['contestants'],
  { postgres: { host, port, user, password }, executables, node }: Ground,
  before: Executables | undefined,
  releasers: Releasers,
): Promise<readonly Contestant[]> {
  const database = { driver: 'postgres', host, port, name: BOOKS_DATABASE, user, password };
  const contestants: Contestant[] = [];
  for (const [name, further] of [
    ['svc', {}],
    ['svc-again', {}],
    ['svc-own', { transactions: 'own' }],
  ] as const) {
    if (!chosen.has(name)) continue;
    const settings = Object.entries(further).map(([key, value]) => `, ${key}: ${value}`);
    const about = { name, title: LABELS[name], settings: settings.join('') };
    contestants.push(await startSvc(about, { ...database, ...further }, executables, releasers));
  }
  if (chosen.has('svc-serve')) {
    const about = { name: 'svc-serve', title: LABELS['svc-serve'] } as const;
    contestants.push(await startServe(about, database, node, releasers));
  }
  if (before !== undefined) {
    const about = { name: 'svc-before', title: `${LABELS['svc-before']} (${RELEASE_BEFORE})` } as const;
    contestants.push(await startSvc(about, database, before, releasers));
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
  await rm(SECOND, { force: true });
  const pages = await renderPages((part) => part(document));
  for (const [path, text] of pages) await writeFile(join(DOCS, path), text);
  say(
    `wrote ${pages.map(([path]) => `docs/${path}`).join(', ')} and docs/performance/: ${Object.keys(files).join(', ')}`,
  );
}

async function writeSecond(kept: CompareDocument, again: CompareDocument): Promise<void> {
  await writeFile(SECOND, documentText(again));
  const page = join(DOCS, 'performance.md');
  await writeFile(page, replacePart(await readFile(page, 'utf8'), 'second', second(kept, again)));
  say('wrote docs/performance.md and docs/performance/bench-second.json');
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
