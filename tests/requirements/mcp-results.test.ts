import { testDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMcpCaller, type McpAnswer, type McpCaller, type McpOptions } from './mcp-caller.testing.ts';
import { startPair, type Pair } from './pair.testing.ts';

/** What JSON, SSE and naive templates stumble over. */
const AWKWARD = [
  '"quoted" \\ back\\\\slash \\n \\u0041',
  'lines\nand\r\nmore\r\n\ndata: {"x":1}\n\nevent: end',
  'tab\t\b\f\u0001\u001f\u007f\u0085\u2028\u2029',
  '🐈‍⬛ 书 Ünïcode \u{10FFFF} \ufeff',
  '</script><!-- ${x} {{y}} %s',
  '',
];

let pair: Pair;
let mcp: McpCaller;
beforeAll(async () => {
  const database = await testDatabase({
    sql: [
      `create table note (id int primary key, text text, document json);
      insert into note select at, text, null from unnest(array[${AWKWARD.map(literal).join(',')}]) with ordinality x(text, at);
      update note set document = E'{\\n  "a" : [1,\\n\\t{"b": "\\\\n\\\\u2028"}\\r\\n]\\n}';`,
    ],
  });
  const { host, port, name, user, password } = database;
  const notes = { sql: 'select id, text, document from note order by id' };
  const fields = { id: { type: 'integer' }, text: { type: 'string' }, document: { type: 'object' } };
  pair = await startPair({ keys: { other: '*' } });
  await pair.startAgent('agent', {
    database: { host, port, name, user, password },
    runtime: { max_concurrent_requests: 1, queue_size: 1 },
    capabilities: {
      notes: { ...notes, result: fields },
      some_notes: { ...notes, policy: { max_rows: 4 }, result: fields },
      big: {
        sql: `select at, repeat('"\\', 512) as text from generate_series(1, 1500) at`,
        policy: { max_rows: 100_000, max_bytes: '1MB' },
        result: { at: { type: 'integer' }, text: { type: 'string' } },
      },
      whole: {
        sql: `select repeat('x', 1048000) as text`,
        policy: { max_bytes: '1MB' },
        result: { text: { type: 'string' } },
      },
      large_row: {
        sql: `select repeat('x', 2000) as text`,
        policy: { max_bytes: '1KB' },
        result: { text: { type: 'string' } },
      },
      many: {
        sql: 'select id from note',
        policy: { max_rows: 1, on_limit: 'error' },
        result: { id: { type: 'integer' } },
      },
      cast: {
        sql: `select (:text || ' of s3cret_table')::int as number`,
        params: { text: { type: 'string', required: true, maxLength: 20 } },
        result: { number: { type: 'integer' } },
      },
      several: {
        sql: 'select :a::int + :b::int as sum, :c::text as c',
        params: {
          a: { type: 'integer', required: true, minimum: 1 },
          b: { type: 'integer', required: true },
          c: { type: 'string', enum: ['x', 'y'] },
        },
        result: { sum: { type: 'integer' }, c: { type: 'string' } },
      },
      slow: {
        sql: 'select pg_sleep(:seconds)::text as slept',
        params: { seconds: { type: 'number', required: true } },
        policy: { timeout: '200ms', allow_functions: ['pg_sleep'] },
        result: { slept: { type: 'string' } },
      },
      sleep: {
        sql: 'select pg_sleep(:seconds)::text as slept',
        params: { seconds: { type: 'number', required: true } },
        policy: { timeout: '10s', allow_functions: ['pg_sleep'] },
        result: { slept: { type: 'string' } },
      },
    },
  });
  mcp = createMcpCaller(pair.port, pair.apiKeys['all'] ?? '');
  await mcp.learnTools();
});
afterAll(() => pair.stop());

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

const ACCEPTS = ['application/json', 'text/event-stream'];
const ERAS = ['legacy', 'modern'] as const;
const WAYS = ACCEPTS.flatMap((Accept) => ERAS.map((era) => [era, Accept] as const));

async function call(
  name: string,
  given: object = {},
  era: (typeof ERAS)[number] = 'legacy',
  options: McpOptions = {},
): Promise<McpAnswer> {
  return await mcp[era]('tools/call', { name, arguments: given }, options);
}

/** The texts of the content and the rest of the result. */
function resultOf({ json }: McpAnswer): {
  readonly texts: readonly string[];
  readonly structured: unknown;
  readonly isError: unknown;
} {
  const { result }: Parsed = JSON.parse(JSON.stringify(json));
  expect(result.content.every(({ type }) => type === 'text')).toBe(true);
  const texts = result.content.map(({ text }) => text);
  return { texts, structured: result.structuredContent, isError: result.isError };
}
interface Parsed {
  readonly result: {
    readonly content: readonly { readonly type: string; readonly text: string }[];
    readonly structuredContent?: unknown;
    readonly isError?: unknown;
  };
}

describe.each(WAYS)('by %s with Accept: %s', { tags: ['mcp:7', 'mcp:20'] }, (era, Accept) => {
  const options = { headers: { Accept } };

  test('awkward texts and JSON with line breaks arrive unharmed', async () => {
    const rest = await pair.call('notes', {});
    const answer = await call('notes', {}, era, options);
    const rows = AWKWARD.map((text, at) => ({
      id: at + 1,
      text,
      document: { a: [1, { b: '\n\u2028' }] },
    }));
    expect(resultOf(answer)).toEqual({
      texts: [rest.text],
      structured: { rows, count: AWKWARD.length },
      isError: undefined,
    });
    expect(JSON.parse(rest.text)).toEqual({ rows, count: AWKWARD.length });
  });

  test('and so they do when the result is cut', async () => {
    const rest = await pair.call('some_notes', {});
    const { texts, structured } = resultOf(await call('some_notes', {}, era, options));
    expect(texts).toEqual([rest.text, expect.any(String)]);
    expect(structured).toEqual(rest.json);
    expect(structured).toMatchObject({ count: 4, truncated: true });
  });

  test.each(['big', 'whole'])('a result of 1 MB does: %s', async (name) => {
    const rest = await pair.call(name, {});
    expect(rest.text.length).toBeGreaterThan(1_040_000);
    const { texts, structured } = resultOf(await call(name, {}, era, options));
    expect(texts[0] === rest.text).toBe(true);
    expect(texts).toHaveLength(name === 'big' ? 2 : 1);
    expect(JSON.stringify(structured) === rest.text).toBe(true);
  });

  test('a refusal does', { tags: ['mcp:18'] }, async () => {
    const { texts, structured, isError } = resultOf(await call('several', { b: 1, a: 0 }, era, options));
    expect([texts, structured, isError]).toEqual([
      [expect.stringContaining('a: must be >= 1')],
      undefined,
      true,
    ]);
  });
});

describe('a call that fails is a result that says what to change', { tags: ['mcp:18'] }, () => {
  /** No SQL, no database text, no value. */
  const SECRETS = /s3cret|select|pg_|syntax|invalid input|:text|int4|note\b|division/i;

  async function failed(name: string, given: object, era: (typeof ERAS)[number] = 'legacy'): Promise<string> {
    const answer = await call(name, given, era);
    expect(answer.status).toBe(200);
    const { texts, structured, isError } = resultOf(answer);
    expect([structured, isError]).toEqual([undefined, true]);
    expect(texts).toHaveLength(1);
    expect(answer.body).not.toMatch(SECRETS);
    return texts[0] ?? '';
  }

  test.each(ERAS)('refused parameters, all of them: %s', async (era) => {
    expect(await failed('several', { a: 0, c: 's3cret', d: 1 }, era)).toContain('a: must be >= 1');
    const rest = await pair.call('several', { a: 0, c: 's3cret', d: 1 });
    const { error }: { readonly error: { readonly message: string } } = JSON.parse(rest.text);
    const text = await failed('several', { a: 0, c: 's3cret', d: 1 }, era);
    expect(text).toContain(error.message);
    for (const name of ['a', 'b', 'c', 'd']) expect(text).toContain(`${name}: `);
    expect(await failed('several', { a: '1', b: 1 }, era)).toContain('a: must be an integer');
    expect(await failed('cast', { text: 's3cret '.repeat(5) }, era)).toContain('text: ');
  });

  test.each(ERAS)('a failure of the database: %s', async (era) => {
    expect(await failed('cast', { text: 's3cret' }, era)).toMatch(/\w+/);
  });

  test.each(ERAS)('a result that is too large: %s', async (era) => {
    for (const name of ['large_row', 'many'])
      expect(await failed(name, {}, era)).toMatch(/large|limit|rows|bytes/i);
  });

  test.each(ERAS)('a query that takes too long: %s', async (era) => {
    expect(await failed('slow', { seconds: 5 }, era)).toMatch(/longer than it may.*fewer rows/);
  });

  test('an agent that is busy', async () => {
    const sleeping = new AbortController();
    const started = Array.from({ length: 2 }, () =>
      pair
        .ask('/api/v1/capabilities/sleep', {
          method: 'POST',
          body: '{"seconds":5}',
          signal: sleeping.signal,
        })
        .catch(() => 'left'),
    );
    const text = async (): Promise<string> =>
      (await Promise.race([call('slow', { seconds: 0 }).then((answer) => answer.body), after(200)])) ?? '';
    await expect.poll(text, { interval: 20 }).toMatch(/isError/);
    expect(await failed('slow', { seconds: 0 })).toMatch(/again|retry|busy/i);
    sleeping.abort();
    await Promise.all(started);
  });

  test('an agent that does not answer, and then one that is away', async () => {
    const agent = pair.agents[0]?.process;
    agent?.signal('SIGSTOP');
    const waited = call('slow', { seconds: 0 });
    const [text, again] = await Promise.all([failed('slow', { seconds: 0 }), waited]).finally(() =>
      agent?.signal('SIGCONT'),
    );
    expect(text).toMatch(/longer than it may/);
    expect(resultOf(again).isError).toBe(true);
    expect(pair.process.output()).not.toContain('s3cret');
    await pair.stopAgents();
    await expect
      .poll(async () => (await pair.ask('/healthz')).json)
      .toMatchObject({ agent_connected: false });
    for (const era of ERAS)
      expect(await failed('notes', {}, era)).toBe(
        'The database is not reachable at present. Other arguments will not help; call again later.',
      );
  });
});

async function after(ms: number): Promise<undefined> {
  return await new Promise((resolve) => {
    setTimeout(() => resolve(undefined), ms);
  });
}
