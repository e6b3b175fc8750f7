import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTokenIssuer, testDatabase, type TestDatabase } from '@svc/testkit';
import { beforeAll, describe, expect, test } from 'vitest';
import { LIBRARY, libraryFile } from './library.testing.ts';
import { folderOf, start } from './scene.testing.ts';
import type { StdioClient } from './stdio.testing.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ sql: LIBRARY });
});

const library = (text: string = libraryFile(database)) => folderOf(text);

describe('the caller', () => {
  test('has the name and claims of the flags', async () => {
    const { file } = await library();
    const client = await start(['--config', file, '--name', 'analyst', '--claim', 'area=north']);
    await client.initialize();
    const called = await client.request('tools/call', { name: 'mine', arguments: {} });
    expect(called.result?.['structuredContent']).toEqual({
      rows: [{ area: 'north', who: 'analyst' }],
      count: 1,
    });
  });

  test('is accepted where the file refuses API keys, with a warning', async () => {
    const { path, file } = await library(
      libraryFile(database, {
        identity:
          '{ trust: token, api_keys: refuse, max_age: 1h, issuers: [{ name: id, issuer: "https://id.example.com", jwks_file: keys.json, claims: { area: area } }] }',
        capabilities: `
capabilities:
  mine:
    description: What the caller claims
    sql: select cast(:area as text) as area
    params: { area: { type: string, from: principal.claims.area } }
    result: { area: { type: string } }
`,
      }),
    );
    const { jwks } = createTokenIssuer('https://id.example.com', 'any');
    await writeFile(join(path, 'keys.json'), jwks);
    const client = await start(['--config', file, '--claim', 'area=north']);
    await client.initialize();
    const called = await client.request('tools/call', { name: 'mine', arguments: {} });
    expect(called.result?.['structuredContent']).toEqual({ rows: [{ area: 'north' }], count: 1 });
    expect(client.process.output('stderr')).toMatch(
      /warning: identity: refuses callers without a token, but the caller of this process is accepted/,
    );
  });

  test('without the claim is refused', async () => {
    const { file } = await library();
    const client = await start(['--config', file]);
    await client.initialize();
    const called = await client.request('tools/call', { name: 'mine', arguments: { area: 'south' } });
    expect(called.result ?? called.error).not.toHaveProperty('structuredContent');
  });

  test('sees the capabilities of the flag alone; one that does not exist is named with the nearest', async () => {
    const { file } = await library();
    const client = await start(['--config', file, '--capabilities', 'get_book,lst_books']);
    await client.initialize();
    const { result } = await client.request('tools/list');
    expect(result?.['tools']).toMatchObject([{ name: 'get_book' }]);
    const refused = await client.request('tools/call', { name: 'list_books', arguments: { most: 1 } });
    expect(refused.error).toBeDefined();
    expect(client.process.output('stderr')).toContain(
      'warning: --capabilities names lst_books, which does not exist: did you mean list_books?',
    );
  });
});

test('the two settings of the gateway count, and no other', async () => {
  const { file } = await library();
  const client = await start(['--config', file], {
    env: {
      GATEWAY_MAX_REQUEST_BODY_BYTES: '2000',
      GATEWAY_MCP_OUTPUT_SCHEMA: 'false',
      GATEWAY_ADDR: 'nonsense',
      GATEWAY_WORKERS: '9',
      GATEWAY_SERVICES_FILE: '/no/such/file',
    },
  });
  await client.initialize();
  expect(JSON.stringify(await client.request('tools/list'))).not.toContain('outputSchema');
  const filler = (bytes: number): string => {
    const [head, tail] = ['{"jsonrpc":"2.0","id":"f","method":"ping","params":{"a":"', '"}}'];
    return `${head}${'x'.repeat(bytes - head.length - tail.length)}${tail}`;
  };
  client.raw(`${filler(2000)}\r\n`);
  expect(await client.answer('f')).toMatchObject({ result: {} });
  const before = client.messages().length;
  client.raw(`${filler(2001)}\n`);
  await expect.poll(() => client.messages().length).toBe(before + 1);
  expect(client.messages().at(-1)).toMatchObject({ error: { code: -32_600 } });
});

test('batches are served under 2025-03-26, and the last line needs no line feed', async () => {
  const { file } = await library();
  const client = await start(['--config', file]);
  expect((await client.initialize('2025-03-26')).result).toMatchObject({ protocolVersion: '2025-03-26' });
  client.raw(
    '[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"get_book","arguments":{"id":7}}}]\n[]\n',
  );
  await expect.poll(() => client.process.output('stdout').split('\n').length).toBe(4);
  client.raw('[{"jsonrpc":"2.0","id":"c","method":"ping"}]');
  client.end();
  await client.process.exited;
  const lines = client.process.output('stdout').trimEnd().split('\n');
  const batches = lines.map((line): unknown => JSON.parse(line)).filter(Array.isArray);
  expect(batches).toMatchObject([
    [{ id: 'a' }, { id: 'b', result: { structuredContent: { count: 1 } } }],
    [{ id: 'c', result: {} }],
  ]);
  expect(lines.some((line) => line.includes('-32600'))).toBe(true);
});

describe('subscriptions', () => {
  const listen = (client: StdioClient, id: string, toolsListChanged?: boolean): void =>
    void client
      .stateless('subscriptions/listen', { notifications: toolsListChanged ? { toolsListChanged } : {} }, id)
      .catch(() => {});

  test('eight are open, the ninth is refused; each is acknowledged, hears what it asked for, can be cancelled, and is answered at SIGTERM', async () => {
    const { file } = await library();
    const client = await start(['--config', file]);
    await client.stateless('server/discover');
    await client.stateless('tools/list');
    for (let n = 0; n < 8; n += 1) listen(client, `s${n}`, n < 4);
    const acknowledged = (): readonly unknown[] =>
      client
        .messages()
        .flatMap(({ method, params }) =>
          method === 'notifications/subscriptions/acknowledged' ? [params] : [],
        );
    await expect.poll(() => acknowledged().length).toBe(8);
    const key = 'io.modelcontextprotocol/subscriptionId';
    expect(acknowledged()[0]).toEqual({
      _meta: { [key]: 's0' },
      notifications: { toolsListChanged: true },
    });
    expect(acknowledged()[7]).toEqual({ _meta: { [key]: 's7' }, notifications: {} });
    const ninth = await client.stateless('subscriptions/listen', { notifications: {} }, 's8');
    expect(ninth.error?.code).toBe(-32_600);
    client.notify('notifications/cancelled', { requestId: 's0' });
    listen(client, 's9', true);
    await expect.poll(() => acknowledged().length).toBe(9);
    await writeFile(file, libraryFile(database).replace('A book by its number', 'One book'));
    const heard = (): readonly unknown[] =>
      client
        .messages()
        .filter(({ method }) => method === 'notifications/tools/list_changed')
        .map(({ params }) => {
          const meta = params?.['_meta'];
          return typeof meta === 'object' && meta !== null && key in meta
            ? Reflect.get(meta, key)
            : undefined;
        });
    await expect.poll(() => heard().length).toBe(4);
    expect(heard()).toEqual(['s1', 's2', 's3', 's9']);
    client.process.signal('SIGTERM');
    expect((await client.process.exited).code).toBe(0);
    const answered = client
      .messages()
      .flatMap(({ id, result }) =>
        result?.['resultType'] === 'complete' && /^s\d/.test(String(id)) ? [id] : [],
      );
    expect(answered).toEqual(['s1', 's2', 's3', 's4', 's5', 's6', 's7', 's9']);
    expect(heard()).toHaveLength(4);
  });
});

test('two in flight with one id: a cancel ends neither', async () => {
  const { file } = await library();
  const client = await start(['--config', file]);
  await client.initialize();
  const call =
    '{"jsonrpc":"2.0","id":"twin","method":"tools/call","params":{"name":"sleep","arguments":{"seconds":0.5}}}\n';
  client.raw(call + call);
  client.notify('notifications/cancelled', { requestId: 'twin' });
  await expect.poll(() => client.messages().filter(({ id }) => id === 'twin').length).toBe(2);
});
