import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { startService, testDatabase, type Service } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMcpCaller } from './mcp-caller.testing.ts';

const CAPABILITIES = `
capabilities:
  list_films:
    description: Films by title, a page at a time
    sql: >
      select id, title, released, tags from film
      where (title, id) > (coalesce(:after_title, ''), coalesce(:after, 0)) order by title, id
    params:
      after: { type: integer }
      after_title: { type: string }
    policy: { max_rows: 40, max_bytes: 8MB }
    result:
      id: { type: integer, nullable: false }
      title: { type: string, nullable: false }
      released: { type: date }
      tags: { type: array }
    paging: { after_title: title, after: id }
  all_films:
    description: All films
    sql: select id, repeat(title, 500) as title from film order by id
    policy: { max_bytes: 8MB }
    result:
      id: { type: integer }
      title: { type: string }
`;
const SQL = `
  create table film (id int primary key, title text, released date, tags jsonb);
  insert into film select i, 'Film, "' || chr(64 + i % 3 + 1) || '"', case when i > 2 then date '2001-02-03' end, '["a", 1]'
  from generate_series(1, 100) i;
`;

interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

let service: Service;
beforeAll(async () => {
  service = await startService({
    database: await testDatabase({ sql: [SQL] }),
    capabilities: CAPABILITIES,
    // Of several workers one alone has the link.
    gatewayEnv: { GATEWAY_COMPRESS: 'gzip', GATEWAY_MCP_OUTPUT_SCHEMA: 'false', GATEWAY_WORKERS: '2' },
  });
});

afterAll(() => service.stop());

/** On a connection of its own, so that the workers take turns. */
function call(
  name: string,
  params: unknown = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      {
        port: service.port,
        path: `/api/v1/capabilities/${name}`,
        method: 'POST',
        agent: false,
        headers: {
          'X-API-Key': service.apiKeys['all'] ?? '',
          'Content-Type': 'application/json',
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks),
          }),
        );
      },
    );
    sent.on('error', reject);
    sent.end(JSON.stringify(params));
  });
}

interface Page {
  readonly rows: readonly { readonly id: number }[];
  readonly truncated?: true;
  readonly next?: unknown;
}

describe('paging', { tags: ['rest:next', 'capability:paging'] }, () => {
  test('over REST goes on until nothing is cut, and misses nothing', async () => {
    const pages: Page[] = [];
    for (let params: unknown = {}; params !== undefined; params = pages.at(-1)?.next) {
      pages.push(JSON.parse((await call('list_films', params)).body.toString()));
    }
    expect(pages.map(({ rows }) => rows.length)).toEqual([40, 40, 20]);
    expect(pages[0]).toMatchObject({ truncated: true, next: { after_title: 'Film, "B"', after: 19 } });
    expect(pages[2]).not.toHaveProperty('next');
    expect(new Set(pages.flatMap(({ rows }) => rows.map(({ id }) => id))).size).toBe(100);
  });

  test(
    'over MCP is in the structured content and the text, and no outputSchema is listed',
    { tags: ['setting:GATEWAY_MCP_OUTPUT_SCHEMA'] },
    async () => {
      const mcp = createMcpCaller(service.port, service.apiKeys['all'] ?? '');
      for (const tool of await mcp.tools()) expect(tool).not.toHaveProperty('outputSchema');
      const { json } = await mcp.modern('tools/call', { name: 'list_films', arguments: {} });
      const next = { after_title: 'Film, "B"', after: 19 };
      expect(json).toMatchObject({ result: { structuredContent: { truncated: true, next } } });
      const { body } = await mcp.modern('tools/call', { name: 'list_films', arguments: next });
      expect(JSON.parse(body)).toMatchObject({
        result: {
          structuredContent: { count: 40 },
          content: [
            { text: expect.stringContaining('"next":{') },
            { text: expect.stringContaining('`next`') },
          ],
        },
      });
    },
  );
});

describe('formats', { tags: ['rest:formats'] }, () => {
  test('CSV', { tags: ['rest:csv'] }, async () => {
    const { status, headers, body } = await call('list_films', {}, { Accept: 'text/csv' });
    const lines = body.toString().split('\r\n');
    expect([status, lines.length]).toEqual([200, 42]);
    expect(lines.slice(0, 2)).toEqual(['id,title,released,tags', '3,"Film, ""A""",2001-02-03,"[""a"", 1]"']);
    expect(lines.at(-1)).toBe('');
    expect(headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="list_films.csv"',
      vary: 'Accept',
      'svc-row-count': '40',
      'svc-truncated': 'true',
      'svc-next': '{"after_title":"Film, \\"B\\"","after":19}',
    });
    const none = await call('list_films', { after_title: 'Z' }, { Accept: 'text/csv' });
    expect(none.body.toString()).toBe('id,title,released,tags\r\n');
    expect(none.headers).not.toHaveProperty('svc-truncated');
  });

  test('NDJSON', { tags: ['rest:ndjson'] }, async () => {
    const { headers, body } = await call('list_films', {}, { Accept: 'application/x-ndjson' });
    const whole: Page = JSON.parse((await call('list_films')).body.toString());
    expect(body.toString()).toBe(
      whole.rows.map((row) => `${JSON.stringify(row).replace('["a",1]', '["a", 1]')}\n`).join(''),
    );
    expect(headers).toMatchObject({ 'content-type': 'application/x-ndjson', 'svc-row-count': '40' });
  });

  test('are never refused, and errors are JSON', async () => {
    const answer = await call('list_films', {}, { Accept: 'image/png' });
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json']);
    expect(answer.headers).not.toHaveProperty('vary');
    const refused = await call('list_films', { after: 'x' }, { Accept: 'text/csv' });
    expect([refused.status, refused.headers['content-type']]).toEqual([400, 'application/json']);
  });
});

test('large answers leave in gzip', { tags: ['setting:GATEWAY_COMPRESS'] }, async () => {
  const plain = await call('all_films');
  expect(plain.headers).not.toHaveProperty('content-encoding');
  for (const accept of ['*/*', 'text/csv', 'application/x-ndjson']) {
    const uncompressed = accept === '*/*' ? plain : await call('all_films', {}, { Accept: accept });
    const { headers, body } = await call('all_films', {}, { Accept: accept, 'Accept-Encoding': 'gzip' });
    expect(headers['content-encoding']).toBe('gzip');
    expect(body.length * 10).toBeLessThan(uncompressed.body.length);
    expect(gunzipSync(body).equals(uncompressed.body)).toBe(true);
  }
  const small = await call('list_films', {}, { 'Accept-Encoding': 'gzip' });
  expect(small.headers).not.toHaveProperty('content-encoding');
});
