import { join } from 'node:path';
import * as current from '@modelcontextprotocol/client';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runProcess, startService, testDatabase, type Service } from '@svc/testkit';

const KEYS = ['-9223372036854775808', '-9007199254740993', '7', '9007199254740993', '9223372036854775807'];
const [LEAST = '', , , BEYOND = '', GREATEST = ''] = KEYS;

const CAPABILITIES = `
runtime: { workers: 2 }
identity: { trust: gateway }
capabilities:
  get_snow:
    sql: select id, name from snow where id = :id
    params: { id: { type: integer, required: true } }
    result: { id: { type: integer, nullable: false }, name: { type: string } }
    examples:
      - params: { id: ${BEYOND} }
        expect: { count: 1, rows: [{ id: ${BEYOND} }] }
  list_snow:
    sql: select id from snow where :after is null or id > :after order by id
    params: { after: { type: integer } }
    policy: { max_rows: 1 }
    result: { id: { type: integer, nullable: false } }
    paging: { after: id }
  list_numeric:
    sql: select n from wide where :after is null or n > :after order by n
    params: { after: { type: number } }
    policy: { max_rows: 1 }
    result: { n: { type: number, nullable: false } }
    paging: { after: n }
  some_snow:
    sql: select id from snow where id = any(:ids) order by id
    params: { ids: { type: array, items: { type: integer } } }
    result: { id: { type: integer } }
  echo:
    sql: select (:doc)::text as doc
    params: { doc: { type: object } }
    result: { doc: { type: string } }
  own_snow:
    sql: select id from snow where id = :tenant
    params: { tenant: { type: integer, from: principal.claims.tenant } }
    result: { id: { type: integer } }
  unchecked:
    sql: >
      select 'not an address' as mail, ${GREATEST} as small, 'yesterday' as day, 'x' as id,
        '2024-02-29'::date as real_day, 'infinity'::timestamptz as never, '0044-03-15 BC'::date as ides,
        'NaN'::numeric as nan
    params: {}
    result:
      mail: { type: string, format: email }
      small: { type: integer, format: int32 }
      day: { type: string, format: date }
      id: { type: string, format: uuid }
      real_day: { type: date, nullable: false }
      never: { type: datetime }
      ides: { type: date }
      nan: { type: number }
`;

let service: Service;
beforeAll(async () => {
  const database = await testDatabase({
    sql: [
      'create table snow (id bigint primary key, name text)',
      `insert into snow values ${KEYS.map((key) => `(${key}, 'n')`).join(', ')}`,
      'create table wide (n numeric primary key)',
      'insert into wide values (0.1), (12345678901234567890.1), (12345678901234567890.2)',
    ],
  });
  service = await startService({
    database,
    capabilities: CAPABILITIES,
    keyFields: { all: { claims: { tenant: 7 } } },
  });
});
afterAll(() => service.stop());

async function rest(name: string, body: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(`${service.url}/api/v1/capabilities/${name}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.apiKeys['all']}`, 'content-type': 'application/json' },
    body,
  });
  return { status: response.status, text: await response.text() };
}

/** What `tools/call` answers, with its numbers as they are written. */
async function mcp(name: string, args: string): Promise<string> {
  const response = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.apiKeys['all']}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
    },
    body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`,
  });
  return await response.text();
}

describe('integers beyond 2^53', { tags: ['param:integer', 'result:integer'] }, () => {
  test.each(KEYS)('%s finds its row, over REST and MCP', async (key) => {
    const rows = `"rows":[{"id":${key},"name":"n"}]`;
    expect(await rest('get_snow', `{"id":${key}}`)).toEqual({
      status: 200,
      text: expect.stringContaining(rows),
    });
    expect(await mcp('get_snow', `{"id":${key}}`)).toContain(rows);
  });

  test('each is taken in a list', async () => {
    const { text } = await rest('some_snow', `{"ids":[${GREATEST},${BEYOND},7,${LEAST}]}`);
    const rows = [LEAST, '7', BEYOND, GREATEST].map((id) => `{"id":${id}}`);
    expect(text).toContain(`"rows":[${rows.join(',')}]`);
  });

  test(
    'the next of every answer is taken back, until there is none',
    { tags: ['capability:paging'] },
    async () => {
      for (const [name, field, expected] of [
        ['list_snow', 'id', KEYS],
        ['list_numeric', 'n', ['0.1', '12345678901234567890.1', '12345678901234567890.2']],
      ] as const) {
        const seen: string[] = [];
        let body: string | undefined = '{}';
        while (body !== undefined) {
          const { status, text } = await rest(name, body);
          expect([status, seen.length < 9]).toEqual([200, true]);
          seen.push(new RegExp(`\\{"${field}":([^}]*)\\}`).exec(text)?.[1] ?? text);
          body = /"next":(\{[^}]*\})/.exec(text)?.[1];
        }
        expect(seen).toEqual(expected);
      }
    },
  );

  test('what bigint does not take is refused by its bounds', async () => {
    for (const call of [rest, async (name: string, args: string) => ({ text: await mcp(name, args) })]) {
      const { text } = await call('get_snow', '{"id":9223372036854775808}');
      expect(text).toContain('id: must be between -9223372036854775808 and 9223372036854775807');
    }
  });

  test('within an object each number is what was written', { tags: ['param:object'] }, async () => {
    const doc = '{"n": [0.10000000000000000001, 18446744073709551616], "id": 9007199254740993}';
    const { text } = await rest('echo', `{"doc":${doc}}`);
    expect(JSON.parse(text)).toMatchObject({ rows: [{ doc }] });
  });

  test('the schemas have no bounds that the file does not have', async () => {
    const { text } = await service.get('/openapi.json');
    expect(text).not.toMatch(/"(?:exclusiveM|m)(?:in|ax)imum":-?9/);
    expect(text).toContain('"id":{"type":"integer"}');
  });

  test(
    'svc-agent try and test send and compare all digits',
    { tags: ['command:try', 'command:test'] },
    async () => {
      const folder = service.agentFolder(0);
      const run = async (...args: readonly string[]) =>
        await runProcess(join(folder, 'svc-agent'), args, { cwd: folder });
      const tried = await run('try', 'get_snow', '--param', `id=${BEYOND}`, '--json');
      expect(tried.stdout).toContain(`"rows":[{"id":${BEYOND},"name":"n"}]`);
      expect(await run('test', 'get_snow')).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('1 example, 1 as expected'),
      });
      const claim = ['--as', 'k', '--claim', 'tenant=9007199254740993', '--json'];
      expect(await run('try', 'own_snow', ...claim)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('claims.tenant'),
      });
    },
  );
});

test(
  'official clients take answers whose fields are not what their format says',
  {
    tags: ['capability:result.format', 'mcp:16'],
  },
  async () => {
    const url = new URL(`${service.url}/mcp`);
    const headers = { authorization: `Bearer ${service.apiKeys['all']}` };
    const identity = { name: 'svc-tests', version: '1.0.0' };
    const first = new FirstClient(identity);
    await first.connect(new FirstTransport(url, { requestInit: { headers } }));
    const second = new current.Client(identity);
    await second.connect(new current.StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    for (const client of [first, second]) {
      await client.listTools();
      const { structuredContent } = await client.callTool({ name: 'unchecked', arguments: {} });
      expect(structuredContent).toMatchObject({
        rows: [
          {
            mail: 'not an address',
            day: 'yesterday',
            real_day: '2024-02-29',
            never: null,
            ides: null,
            nan: null,
          },
        ],
      });
      await client.close();
    }
  },
);
