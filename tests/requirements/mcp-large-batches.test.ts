import { testDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMcpCaller, type McpCaller } from './mcp-caller.testing.ts';
import { isRecord } from './mcp-schemas.testing.ts';
import { startPair, type Pair } from './pair.testing.ts';

let pair: Pair;
let mcp: McpCaller;
beforeAll(async () => {
  const { host, port, name, user, password } = await testDatabase();
  const capability = (bytes: number, from = ''): object => ({
    sql: `select repeat('x', ${bytes}) as text ${from}`,
    policy: { max_bytes: '2MB', timeout: '5s', allow_functions: ['pg_sleep'] },
    result: { text: { type: 'string' } },
  });
  pair = await startPair();
  await pair.startAgent('agent', {
    database: { host, port, name, user, password },
    capabilities: {
      small: capability(1000),
      middle: capability(100_000),
      // The gateway has room for 64 MB of such results at a time.
      large: capability(1_900_000),
      late: capability(1_900_000, 'from pg_sleep(1)'),
    },
  });
  mcp = createMcpCaller(pair.port, pair.apiKeys['all'] ?? '');
});
afterAll(() => pair.stop());

/** How each call ended: with its rows, or with the words of the tool. */
async function outcomes(names: readonly string[], Accept = '*/*'): Promise<readonly unknown[]> {
  const batch = names.map((name, id) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } }));
  const { status, json } = await mcp.post(batch, { headers: { Accept } });
  expect(status).toBe(200);
  return (Array.isArray(json) ? json : []).map((entry: unknown, id) => {
    expect(entry).toMatchObject({ jsonrpc: '2.0', id });
    const result = isRecord(entry) && isRecord(entry['result']) ? entry['result'] : {};
    const content: unknown = Array.isArray(result['content']) ? result['content'][0] : undefined;
    const text = isRecord(content) ? String(content['text']) : '';
    if (result['isError'] === true) return text;
    expect(JSON.parse(text)).toEqual(result['structuredContent']);
    return text.length;
  });
}

const ALONE: unknown = expect.stringMatching(
  /128 KB that a call in a batch may have, alone it may have more/,
);
/** What the text of a result has besides the field. */
const AROUND = '{"rows":[{"text":""}],"count":1}'.length;

describe('large results of batches block nobody', { tags: ['mcp:10'] }, () => {
  test.each(['*/*', 'text/event-stream'])('they must be asked for alone, others not: %s', async (Accept) => {
    expect(await outcomes(['large', 'small', 'middle', 'large', 'middle'], Accept)).toEqual([
      ALONE,
      1000 + AROUND,
      100_000 + AROUND,
      ALONE,
      100_000 + AROUND,
    ]);
    const { json } = await mcp.legacy('tools/call', { name: 'large' });
    expect(json).toMatchObject({ result: { structuredContent: { count: 1 } } });
  });

  // 95 MB: more than there is room for.
  test('nor do many of them', async () => {
    const started = performance.now();
    const names = ['late', ...Array.from({ length: 24 }, () => 'large')];
    const batches = Array.from({ length: 2 }, () => outcomes(names));
    const others = await Promise.all(['large', 'late'].map((name) => pair.call(name, {})));
    expect(others.map(({ status }) => status)).toEqual([200, 200]);
    for (const batch of await Promise.all(batches)) expect(batch).toEqual(names.map(() => ALONE));
    expect(performance.now() - started).toBeLessThan(25_000);
  });
});
