import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runProcess, testDatabase } from '@svc/testkit';
import { startStation, type Station } from './station.testing.ts';

const FILM = {
  description: 'One film',
  sql: 'select id, title, about from film where id = :id',
  params: { id: { type: 'integer', required: true, minimum: 1 } },
  result: { id: { type: 'integer' }, title: { type: 'string' }, about: { type: 'object' } },
};
const GOOD = {
  film: {
    ...FILM,
    examples: [
      {
        params: { id: 1 },
        expect: { count: 1, rows: [{ title: 'Dinosaur', about: { tags: ['old'] } }], max_ms: 60_000 },
      },
      { params: { id: 2 }, expect: { count: 0, truncated: false }, publish: false },
      { params: { id: 0 }, expect: { error: 'AGENT_INVALID_PARAMS' } },
    ],
  },
  rentals: {
    sql: 'select n from rental order by n',
    policy: { max_rows: 2 },
    result: { n: { type: 'integer' } },
    examples: [
      { as: 'north', expect: { rows: [{ n: 1 }, { n: 2 }], truncated: true } },
      { principal: { key_name: 'south' }, expect: { max_count: 1, rows: [{ n: 9 }] } },
    ],
  },
  divide: {
    sql: 'select 1 / :by as n',
    params: { by: { type: 'integer' } },
    result: { n: { type: 'integer' } },
    examples: [{ params: { by: 0 }, expect: { error: 'AGENT_QUERY_FAILED' } }],
  },
};
const WRONG = {
  film: {
    ...FILM,
    examples: [
      { params: { id: 1 }, expect: { count: 2, rows: [{ title: 'Giraffe' }] } },
      { params: { id: 2 }, expect: { error: 'AGENT_QUERY_FAILED' } },
      { params: { id: 1 } },
    ],
  },
};

let station: Station;
let folder: string;
beforeAll(async () => {
  const database = await testDatabase({
    sql: [
      'create table film (id int, title text, about jsonb)',
      `insert into film values (1, 'Dinosaur', '{"tags": ["old"], "length": 86}')`,
      'create table rental_of (key text, n int)',
      `insert into rental_of values ('north', 1), ('north', 2), ('north', 3), ('south', 9)`,
      `create view rental as select n from rental_of where key = current_setting('svc.api_key_name', true)`,
    ],
  });
  station = await startStation(database);
  folder = await station.folder({
    'good.yaml': station.file({ capabilities: GOOD }),
    'wrong.yaml': station.file({ capabilities: WRONG }),
    'tenants.yaml': station.file({
      identity: { trust: 'gateway' },
      capabilities: {
        rows_of: {
          sql: 'select :org as org',
          params: { org: { type: 'string', from: 'principal.claims.org' } },
          result: { org: { type: 'string' } },
          examples: [
            {
              principal: { issuer: 'i', subject: 's', claims: { org: 'acme' } },
              expect: { rows: [{ org: 'acme' }] },
            },
            { expect: { error: 'AGENT_PRINCIPAL_REFUSED' } },
          ],
        },
      },
    }),
  });
});
afterAll(() => station.stop());

async function agent(
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const { code, stdout, stderr } = await runProcess(join(folder, 'svc-agent'), args, { cwd: folder });
  return { code, stdout, stderr };
}

describe('svc-agent test', { tags: ['command:test', 'capability:examples', 'command:exit-codes'] }, () => {
  test('makes the calls as a gateway would have them made', async () => {
    const { code, stdout, stderr } = await agent('test', '--config', 'good.yaml');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n')).toEqual([
      'who calls is taken from the examples, and nothing verified it',
      expect.stringMatching(/^6 examples, 6 as expected \(\d+ ms\)$/),
      '',
    ]);
  });

  test('ends with 3 where one is not as expected, and quotes no row outside of a terminal', async () => {
    const { code, stdout, stderr } = await agent('test', '--config', 'wrong.yaml');
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
    expect(stdout.replaceAll(/:\d+:\d+ /g, ':L ').split('\n')).toEqual([
      'wrong.yaml:L  film example 1: expected 2 rows, got 1 row',
      'wrong.yaml:L  film example 1: rows[0].title: expected "Giraffe", got another text',
      'wrong.yaml:L  film example 2: expected AGENT_QUERY_FAILED, got 0 rows',
      expect.stringMatching(/^3 examples, 1 as expected, 2 not \(\d+ ms\)$/),
      '',
    ]);
  });

  test('takes who calls as the example says, without a token', async () => {
    const { code, stdout } = await agent('test', '--config', 'tenants.yaml', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      passed: 2,
      failed: 0,
      examples: [
        { capability: 'rows_of', example: 1, ok: true, principal_verified: false, problems: [] },
        { capability: 'rows_of', example: 2, ok: true },
      ],
      faults: [],
    });
  });

  test('runs those of the capabilities that are named', async () => {
    const { code, stdout } = await agent('test', 'divide', 'rentals', '--config', 'good.yaml', '--json');
    expect(code).toBe(0);
    const { examples } = JSON.parse(stdout);
    expect(examples.map(({ capability }: { readonly capability: string }) => capability)).toEqual([
      'rentals',
      'rentals',
      'divide',
    ]);
  });

  test('writes JUnit XML, also of what keeps the calls from being made', async () => {
    const junit = await agent('test', '--config', 'wrong.yaml', '--reporter', 'junit');
    expect(junit).toMatchObject({ code: 3, stderr: '' });
    expect(junit.stdout).toContain('<testsuites name="svc-agent test" tests="3" failures="2" errors="0"');
    const refused = await agent('test', 'flim', '--config', 'good.yaml', '--reporter', 'junit');
    const message = 'there is no capability "flim", did you mean `film`?';
    expect(refused).toMatchObject({ code: 2, stderr: `good.yaml  ${message}\n` });
    expect(refused.stdout).toContain('tests="1" failures="0" errors="1"');
  });

  test('takes one form of report', async () => {
    expect(await agent('test', '--reporter', 'junit', '--json')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'svc-agent: `--json` and `--reporter` exclude each other: give one of them\n',
    });
  });
});

test(
  'callers are shown what examples send, and no row',
  { tags: ['capability:examples', 'openapi:request'] },
  async () => {
    await station.withAgent({ capabilities: GOOD }, async () => {
      const { text } = await station.get('/openapi.json');
      expect(text).not.toContain('Dinosaur');
      const { paths } = JSON.parse(text);
      const schemaOf = (name: string): unknown =>
        paths[`/api/v1/capabilities/${name}`].post.requestBody.content['application/json'].schema;
      expect(schemaOf('film')).toMatchObject({ examples: [{ id: 1 }] });
      expect(schemaOf('divide')).not.toHaveProperty('examples');
    });
  },
);

describe('svc-agent lint', { tags: ['command:lint', 'command:exit-codes'] }, () => {
  test('asks the database unless it is not to', async () => {
    const online = await agent('lint', '--config', 'good.yaml', '--json');
    expect(online).toMatchObject({ code: 0, stderr: '' });
    expect(await agent('lint', '--config', 'good.yaml', '--json', '--offline')).toEqual(online);
    expect(JSON.parse(online.stdout)).toMatchObject({
      ok: true,
      fail_on: 'error',
      counts: { error: 0, warn: 2 },
      faults: [],
    });
  });

  test('ends with 3 where something is as bad as asked for', async () => {
    const { code, stdout } = await agent('lint', '--config', 'good.yaml', '--offline', '--fail-on', 'warn');
    expect(code).toBe(3);
    expect(stdout).toMatch(
      /^good\.yaml:\d+:\d+ {2}warn description-missing {2}capabilities\.rentals: has no `description`/m,
    );
    expect(stdout).toMatch(/\n0 errors, 2 warnings, \d+ advice\n$/);
  });

  test('ends with 2 for a level that there is not', async () => {
    const { code, stderr } = await agent('lint', '--fail-on', 'all');
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'svc-agent: `--fail-on` must be one of error, warn, advice\n',
    });
  });
});
