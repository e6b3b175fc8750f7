import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { testDatabase, type TestDatabase } from '@svc/testkit';
import { beforeAll, describe, expect, test } from 'vitest';
import { LIBRARY, libraryFile } from './library.testing.ts';
import { folderOf, start } from './scene.testing.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ sql: LIBRARY });
});

const library = (text: string = libraryFile(database)) => folderOf(text);

describe('a start that fails is told to the client and on standard error', () => {
  const cases: readonly (readonly [string, (file: string) => string, RegExp])[] = [
    ['YAML', (file) => `${file}\n  : torn: [`, /line|YAML|:\d+:\d+/i],
    [
      'a host',
      (file) => file.replace(/host: [\d.]+/, 'host: no-such-host.invalid'),
      /the host name cannot be looked up/,
    ],
    ['a port', (file) => file.replace(/port: \d+/, 'port: 1'), /database/],
    ['a password', (file) => file.replace(/password: "[^"]*"/, 'password: "wrong"'), /password/],
    ['SQL', (file) => file.replace('from book where', 'from no_book where'), /capabilities\.get_book\.sql/],
    [
      'an account that may write',
      (file) => file.replace('database: {', 'database: { require_readonly_account: true,'),
      /svc-agent check/,
    ],
  ];
  test.each(cases)('%s', async (_what, change, expected) => {
    const { file } = await library(change(libraryFile(database)));
    const client = await start(['--config', file]);
    const { error } = await client.initialize();
    expect(error?.code).toBe(-32_603);
    expect(error?.message).toMatch(/^svc cannot start: .*library\.yaml: /);
    expect(error?.message).toMatch(expected);
    expect(error?.message).not.toContain('\n');
    expect(error?.message.length).toBeLessThanOrEqual(1000);
    expect(client.process.output('stderr')).toMatch(expected);
    expect((await client.request('tools/call', { name: 'get_book', arguments: {} })).error?.code).toBe(
      -32_603,
    );
    expect(await client.request('ping')).toMatchObject({ result: {} });
    client.process.signal('SIGTERM');
    expect(await client.process.exited).toEqual({ code: 2, signal: null });
  });

  test('with at most three faults in the message and 20 in the data, each where it is', async () => {
    const wrong = Array.from(
      { length: 25 },
      (_, n) =>
        `  wrong_${n}: { description: Wrong, sql: select 1 as a, wrong: 1, result: { a: { type: integer } } }`,
    );
    const { file } = await library(
      libraryFile(database, { capabilities: ['capabilities:', ...wrong].join('\n') }),
    );
    const client = await start(['--config', file]);
    const { error } = await client.initialize();
    expect(error?.message.match(/capabilities\.wrong_/g)).toHaveLength(3);
    expect(error?.message).toMatch(/; and 22 more$/);
    const data = error?.data;
    if (typeof data !== 'object' || data === null || !('faults' in data) || !Array.isArray(data.faults))
      throw new Error('there are no faults');
    expect(data.faults).toHaveLength(20);
    expect(data.faults[0]).toEqual({
      path: 'capabilities.wrong_0.wrong',
      message: expect.any(String),
      line: 5,
      column: expect.any(Number),
    });
    for (const fault of data.faults)
      expect(Object.keys(fault).every((key) => ['path', 'message', 'line', 'column'].includes(key))).toBe(
        true,
      );
    expect(client.process.output('stderr')).toContain('wrong_24');
  });

  test('for a last line without a line feed, too', async () => {
    const { file } = await library('capabilities: 7\n');
    const client = await start(['--config', file]);
    await client.initialize();
    client.raw('{"jsonrpc":"2.0","id":"last","method":"tools/list"}');
    client.end();
    expect((await client.process.exited).code).toBe(2);
    expect((await client.answer('last')).error?.message).toMatch(/^svc cannot start: /);
  });

  test('for 10 seconds after the last answer, then it ends with 2 although the input is open', async () => {
    const { file } = await library('capabilities: 7\n');
    const client = await start(['--config', file]);
    await client.initialize();
    const answeredAt = performance.now();
    expect(await client.process.exited).toEqual({ code: 2, signal: null });
    const lasted = performance.now() - answeredAt;
    expect(lasted).toBeGreaterThan(9900);
    expect(lasted).toBeLessThan(13_000);
  });

  test.each([
    ['--name', ['--name', 'a\tb'], /--name/],
    ['--claim', ['--claim', 'nothing'], /claim/],
    ['--capabilities', ['--capabilities', 'Get-Book'], /--capabilities/],
    ['--config and --url', ['--url', 'postgres://a@127.0.0.1/b'], /--config and --url/],
    ['a flag of --url', ['--schema', 'public'], /--schema is for --url/],
    ['--log', ['--log', '/no/such/folder/log'], /--log/],
  ])('a wrong %s', async (_what, args, expected) => {
    const { file } = await library();
    const client = await start(['--config', file, ...args]);
    const { error } = await client.initialize();
    expect(error).toMatchObject({ code: -32_603, message: expect.stringMatching(expected) });
    client.end();
    expect((await client.process.exited).code).toBe(2);
  });

  test('a setting', async () => {
    const { file } = await library();
    const client = await start(['--config', file], { env: { GATEWAY_MAX_REQUEST_BODY_BYTES: 'many' } });
    const { error } = await client.initialize();
    expect(error?.message).toContain('GATEWAY_MAX_REQUEST_BODY_BYTES');
  });
});

describe('the source', () => {
  test('is neither a file of the folder nor DATABASE_URL', async () => {
    const { path, file } = await library();
    await writeFile(join(path, 'capability.yaml'), await readFile(file));
    await writeFile(join(path, '.env'), `DATABASE_URL=${database.url}\n`);
    const client = await start([], { cwd: path, env: { DATABASE_URL: database.url } });
    const { error } = await client.initialize();
    expect(error?.message).toMatch(/no capability file and no database is named/);
    expect(JSON.stringify(await client.stateless('server/discover'))).not.toContain('Library');
  });

  test('may be a setting that a client passes on, unless it is wholly ${...}', async () => {
    const { file } = await library();
    const served = await start([], {
      env: { AGENT_CAPABILITY_FILE: file, SVC_DATABASE_URL: '${user_config.database_url}' },
    });
    expect((await served.initialize()).result).toMatchObject({ serverInfo: { title: 'Library' } });
    const none = await start([], { env: { SVC_DATABASE_URL: '${user_config.database_url}' } });
    expect((await none.initialize()).error?.message).toContain('no database is named');
    const home = await start([], { env: { AGENT_CAPABILITY_FILE: '~/library.yaml' } });
    expect((await home.initialize()).error?.message).toContain('no shell has expanded');
  });

  test('does not have the secrets of `gateway` read', async () => {
    const { file } = await library(
      `gateway: { url: "\${NO_SUCH_URL}", agent_private_key: "\${file:/no/such/key}" }\n${libraryFile(database)}`,
    );
    const client = await start(['--config', file]);
    expect((await client.initialize()).result).toMatchObject({ serverInfo: { name: 'svc' } });
  });
});
