import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createReleasers,
  startPostgres,
  startService,
  SVC,
  temporaryFolder,
  type Releasers,
  type Service,
} from '@svc/testkit';
import { stopRequest } from '../../examples/start-stop-request.ts';
import { CAPABILITIES, SQL } from './fixture.ts';
import { checkWithInspector } from './inspector.ts';
import { judge, type Exemption, type Outcome, type Verdict } from './judge.ts';
import { startKeyProxy, type KeyProxy } from './key-proxy.ts';
import { indented, scenarioLines, totalLine } from './report.ts';
import { conformanceSuite, type Suite, type SuiteScenario } from './suite.ts';

/** The revisions that the suite is run for, and its scenarios that belong to none. */
const GROUPS = ['2025-11-25', '2026-07-28', 'extension'];
/** Scenarios at the same time: the programs mostly start up. */
const LANES = 2;
const DATABASE = 'conformance';

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/**
 * Runs the conformance suite and the inspector, with the Node.js `node`, against a gateway with an agent and
 * PostgreSQL. Resolves to the exit code: 0 when all is as it should be, 1 when not, 130 after a signal.
 */
export async function run(node: string): Promise<number> {
  const stop = stopRequest();
  const releasers = createReleasers();
  try {
    const counts = await runAll(node, stop.signal, releasers);
    if (stop.signal.aborted) return 130;
    process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
    return counts.failed === 0 ? 0 : 1;
  } catch (error) {
    if (stop.signal.aborted) return 130;
    process.stderr.write(`cannot go on: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  } finally {
    await releasers.closeAll();
    stop.close();
  }
}

async function runAll(node: string, signal: AbortSignal, releasers: Releasers): Promise<Counts> {
  progress('Starting PostgreSQL, the gateway and an agent ...');
  const { service, settings } = await startAll(releasers, signal);
  const apiKey = service.apiKeys['all'] ?? '';
  const proxy = await startKeyProxy(service.port, apiKey);
  await releasers.add(() => proxy.close());
  const suite = conformanceSuite(node, signal);
  const scenarios = await suite.list();
  const lists = await readLists();
  const homeless = scenarios.filter(({ groups }) => !groups.some((group) => GROUPS.includes(group)));
  const faults = homeless.map(({ name }) => `${name} belongs to no revision that is run`);
  const totals: string[] = [];
  const verdicts: Verdict[] = [];
  for (const group of GROUPS) {
    const listed = scenarios.filter(({ groups }) => groups.includes(group)).map(({ name }) => name);
    const outcomes = await runGroup(suite, group, listed, proxy, signal);
    if (signal.aborted) break;
    const judged = judge(listed, outcomes, lists[group] ?? []);
    for (const verdict of judged.verdicts) print(scenarioLines(group, verdict));
    faults.push(...judged.faults.map((fault) => `${group}: ${fault}`));
    totals.push(totalLine(group, judged.verdicts));
    verdicts.push(...judged.verdicts);
  }
  const inspected = await checkWithInspector(
    node,
    { url: service.url, apiKey, settings },
    signal,
    ({ name, fault }) => {
      print(
        [`inspector  ${name}  ${fault === undefined ? 'passed' : 'FAILED'}`, ...indented(fault ?? '')].filter(
          (line) => line.trim() !== '',
        ),
      );
    },
  );
  if (!signal.aborted) print(['', ...totals, ...faults.map((fault) => `FAILED: ${fault}`)]);
  const count = (result: Verdict['result']): number =>
    verdicts.filter((verdict) => verdict.result === result).length;
  const inspectorFailed = inspected.filter(({ fault }) => fault !== undefined).length;
  return {
    passed: count('passed') + inspected.length - inspectorFailed,
    failed: count('failed') + faults.length + inspectorFailed,
    skipped: count('not applicable'),
  };
}

/** `settings` are those with which the inspector starts `svc stdio`. */
async function startAll(
  releasers: Releasers,
  signal: AbortSignal,
): Promise<{ readonly service: Service; readonly settings: string }> {
  const postgres = await startPostgres();
  await releasers.add(() => postgres.stop());
  signal.throwIfAborted();
  await postgres.createDatabase(DATABASE);
  await postgres.execute(DATABASE, SQL);
  const { host, port, user, password } = postgres;
  const database = { host, port, user, password, name: DATABASE };
  const service = await startService({ database, capabilities: CAPABILITIES });
  await releasers.add(() => service.stop());
  signal.throwIfAborted();
  const folder = await temporaryFolder('library');
  await releasers.add(() => folder.remove());
  const file = join(folder.path, 'library.yaml');
  const head = `service: { title: Library, version: 1.0.0 }\ndatabase: ${JSON.stringify(database)}`;
  await writeFile(file, `${head}\n${CAPABILITIES}`);
  const settings = join(folder.path, 'mcp.json');
  const library = { command: SVC, args: ['stdio', '--config', file] };
  await writeFile(settings, JSON.stringify({ mcpServers: { library } }));
  return { service, settings };
}

async function readLists(): Promise<Readonly<Record<string, readonly Exemption[]>>> {
  const text = await readFile(new URL('not-applicable.json', import.meta.url), 'utf8');
  const lists: Readonly<Record<string, readonly Exemption[]>> = JSON.parse(text);
  const strange = Object.keys(lists).filter((group) => !GROUPS.includes(group));
  if (strange.length > 0) {
    throw new Error(`not-applicable.json has ${strange.join(', ')}: name only ${GROUPS.join(', ')}`);
  }
  return lists;
}

async function runGroup(
  suite: Suite,
  group: string,
  listed: readonly SuiteScenario['name'][],
  proxy: KeyProxy,
  signal: AbortSignal,
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const waiting = [...listed];
  const lane = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined && !signal.aborted; name = waiting.shift()) {
      const started = performance.now();
      outcomes.push(await suite.run(name, group, `${proxy.url}/mcp`));
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      progress(`${group}  ${outcomes.length}/${listed.length}  ${name}  ${seconds} s`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return outcomes;
}

function print(lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`);
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}
