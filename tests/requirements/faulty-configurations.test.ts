import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  freePort,
  temporaryFolder,
  testDatabase,
  type TemporaryFolder,
  type TestDatabase,
} from '@svc/testkit';
import { FAULTY_AGENTS } from './faulty-agent.testing.ts';
import {
  BOTH_KEYS,
  CANARY,
  PRIVATE_KEY,
  renderPage,
  runAll,
  type Outcome,
} from './faulty-configuration.testing.ts';
import { FAULTY_DATABASE_SQL, FAULTY_DATABASES, type DatabaseVariables } from './faulty-database.testing.ts';
import { FAULTY_GATEWAYS } from './faulty-gateway.testing.ts';

const CASES = [...FAULTY_GATEWAYS, ...FAULTY_AGENTS, ...FAULTY_DATABASES];

let folder: TemporaryFolder;
let database: TestDatabase;
let outcomes: ReadonlyMap<string, Outcome>;
beforeAll(async () => {
  folder = await temporaryFolder('faulty');
  database = await testDatabase({ sql: [FAULTY_DATABASE_SQL] });
  const { host, port, name } = database;
  const variables: DatabaseVariables = {
    DB_HOST: host,
    DB_PORT: String(port),
    DB_CLOSED_PORT: String(await freePort()),
    DB_NAME: name,
    DB_READER: `${name}_reader`,
    DB_WRITER: `${name}_writer`,
    DB_PASSWORD: CANARY,
  };
  await database.execute(`
    create role ${name}_reader login password '${CANARY}';
    create role ${name}_writer login password '${CANARY}';
    grant select on canary_book to ${name}_reader;
    grant select, insert on canary_book to ${name}_writer;`);
  outcomes = await runAll(folder.path, CASES, variables);
}, 120_000);
afterAll(async () => {
  for (const role of [`${database.name}_reader`, `${database.name}_writer`]) {
    await database.execute(`drop owned by ${role}; drop role ${role}`);
  }
  await folder.remove();
});

function outcomeOf(title: string): Outcome {
  const outcome = outcomes.get(title);
  if (outcome === undefined) throw new Error(`cannot find the outcome of ${title}`);
  return outcome;
}

const PROVEN = ['setting:faults', 'file:lint', 'file:start-up-silence', 'command:no-stack'];

test('every case has a title of its own, and both programs have enough', () => {
  expect(new Set(CASES.map(({ title }) => title)).size).toBe(CASES.length);
  expect(FAULTY_GATEWAYS.length).toBeGreaterThanOrEqual(20);
  expect(FAULTY_AGENTS.length + FAULTY_DATABASES.length).toBeGreaterThanOrEqual(30);
});

describe.each(CASES)('$binary: $title', { tags: PROVEN }, ({ title, names }) => {
  test('is refused in one line for each fault, which names its setting', () => {
    const { code, stdout, stderr } = outcomeOf(title);
    expect(stderr.trimEnd().split('\n')).toEqual(names.map((name) => expect.stringContaining(name)));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  test('tells no secret, no stack, no SQL and no path but those given', () => {
    const { stderr } = outcomeOf(title);
    expect(stderr).not.toMatch(/canary|^\s+at |node:|errno|[a-z]Error\b|file:\/\//im);
    expect(stderr).not.toContain(PRIVATE_KEY.slice(1, -1));
    expect(stderr).not.toContain(BOTH_KEYS.slice(-30, -2));
    expect(stderr).not.toContain(folder.path);
    expect(stderr).not.toContain(database.name);
    expect(stderr).toMatch(/^(?:[^\p{Cc}\u2028\u2029]+\n)+$/u);
  });
});

describe.each(FAULTY_DATABASES)(
  '$title',
  { tags: ['file:start-up-silence', 'agent:database-missing'] },
  ({ title, names }) => {
    test('is told in detail in the log next to the agent', async () => {
      const text = await readFile(join(outcomeOf(title).folder, 'svc-agent.log'), 'utf8');
      const records: Record<string, unknown>[] = text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      const faults = records.filter(({ event }) => event === 'startup_fault');
      expect(faults.map(({ path, message }) => `  ${String(path)}: ${String(message)}`)).toEqual(
        names.map((name) => expect.stringContaining(name)),
      );
    });
  },
);

// The page is for people: read it after every change. `npx vitest run <this file> -u` writes it again.
test('the page of all messages is as it was reviewed', { tags: PROVEN }, async () => {
  await expect(renderPage(CASES, outcomes)).toMatchFileSnapshot('faulty-configurations.expected.txt');
});
