import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runProcess, temporaryFolder, testDatabase, type TemporaryFolder } from '@svc/testkit';
import { ROOT } from '../documentation/documents.ts';
import { compileSources, generateTypes } from '../requirements/openapi-client.testing.ts';
import { startPair, type Pair } from '../requirements/pair.testing.ts';
import { isMistaken, type Verdict } from './oasdiff.testing.ts';
import { makePairs, type Capabilities, type Pairs } from './pairs.testing.ts';
import {
  callsSource as pythonSource,
  generatePython,
  hasPython,
  runPython as runPythonFile,
} from './python.testing.ts';
import { assignmentsSource, callsSource } from './typescript.testing.ts';

const PAIRS = 100;
const SEED = Number(process.env['SVC_SEED'] ?? randomInt(2 ** 31));
const OASDIFF = join(ROOT, '.cache/client-tools/oasdiff');

let folder: TemporaryFolder;
let gateway: Pair;
let pairs: Pairs;
/** The calls by clients of the old description, as old and new agents take them. */
let ran: Readonly<Record<'typescript' | 'python', readonly Ran[]>>;
let faults: readonly string[];

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const hasOasdiff = existsSync(`${OASDIFF}.version`);
const path = (...names: readonly string[]): string => join(folder.path, ...names);

beforeAll(async () => {
  process.stdout.write(`SVC_SEED=${SEED}\n`);
  folder = await temporaryFolder('clients');
  pairs = await makePairs(PAIRS, SEED, folder.path);
  const { host, port, name, user, password } = await testDatabase();
  const database = { driver: 'postgres', host, port, name, user, password };
  const defaults = { max_rows: 1000 };
  gateway = await startPair();
  const serve = async (agent: string, capabilities: Capabilities): Promise<void> => {
    await gateway.stopAgents();
    await gateway.startAgent(agent, { database, defaults, capabilities });
    const { text } = await gateway.ask('/openapi.json');
    await writeFile(path(`${agent}.json`), text);
    // Else an object has no properties.
    await generateTypes(path(agent), text, { emptyObjectsUnknown: true });
  };
  await serve('old', pairs.old);
  if (hasPython) await generatePython(path('old.json'), path('client'));
  const calls = callsSource(pairs);
  await writeFile(path('calls.py'), pythonSource(pairs));
  const withOld = await compileSources(path('old'), { 'calls.ts': calls });
  const first = [await runTypeScript(), await runPython()] as const;
  await serve('new', pairs.now);
  const withNew = await compileSources(path('new'), { 'calls.ts': calls });
  const across = await compileSources(folder.path, { 'assignments.ts': assignmentsSource(pairs) });
  faults = [...withOld, ...withNew, ...across];
  ran = {
    typescript: [first[0], await runTypeScript()],
    python: [first[1], await runPython()],
  };
});
afterAll(async () => {
  await gateway.stop();
  await folder.remove();
});

const env = (): Readonly<Record<string, string>> => ({
  GATEWAY: gateway.url,
  KEY: gateway.apiKeys['all'] ?? '',
});

async function runTypeScript(): Promise<Ran> {
  return await runProcess(process.execPath, [path('old', 'calls.js')], { env: env() });
}

async function runPython(): Promise<Ran> {
  if (!hasPython) return { code: 0, stdout: '', stderr: '' };
  return await runPythonFile(path('calls.py'), env());
}

const callsOf = ({ compatible }: Pairs): number => [...compatible.values()].flat().length;

test('there are enough compatible changes', () => {
  expect(pairs.compatible.size).toBeGreaterThan(PAIRS / 5);
});

test('a TypeScript client compiles with both descriptions, and each assigns to the other', () => {
  expect(faults).toEqual([]);
});

test('a TypeScript client of before gets its answers before and after the change', () => {
  for (const { code, stdout, stderr } of ran.typescript)
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `${callsOf(pairs)} calls\n`, stderr: '' });
});

test.skipIf(!hasPython)('a Python client of before gets its answers before and after the change', () => {
  for (const { code, stdout, stderr } of ran.python)
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `${callsOf(pairs)} calls\n`, stderr: '' });
});

test.skipIf(!hasOasdiff)('what oasdiff calls breaking is not compatible', async () => {
  const { stdout, stderr } = await runProcess(OASDIFF, [
    'breaking',
    path('old.json'),
    path('new.json'),
    '--format',
    'json',
  ]);
  expect(stderr).toBe('');
  const verdicts: readonly Verdict[] = JSON.parse(stdout);
  expect(verdicts.length).toBeGreaterThan(0);
  const doubted = verdicts.filter((verdict) => {
    const name = verdict.path.split('/').at(-1) ?? '';
    return verdict.level === 3 && pairs.compatible.has(name) && !isMistaken(verdict, pairs.old[name]);
  });
  expect(doubted.map(({ id, path: at, text }) => `${id} ${at}: ${text}`)).toEqual([]);
});
