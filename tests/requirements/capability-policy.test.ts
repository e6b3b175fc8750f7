import { testDatabase, type Answer } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectRefusal, startStation, type Station } from './station.testing.ts';

const MIB = 1_048_576;

const integer = { type: 'integer' };
const text = { type: 'string' };
const slow = { type: 'number', required: true };

/** Rows with a text of as many letters as each of `lengths` says. */
const TEXTS = {
  sql: "select repeat('x', l::int) as t from unnest(:lengths) with ordinality u (l, o) order by o",
  params: { lengths: { type: 'array', items: integer, required: true } },
  result: { t: text },
};
const COUNTED = {
  sql: 'select i as id from generate_series(1, :n::bigint) i order by i',
  params: { n: { ...integer, required: true } },
  result: { id: integer },
};
const SLEEP = {
  sql: 'select pg_sleep(:seconds)::text as slept',
  params: { seconds: slow },
  result: { slept: text },
};
const TIMEOUT = {
  sql: "select current_setting('statement_timeout')::interval::text as t",
  result: { t: text },
};

const CAPABILITIES = {
  counted: COUNTED,
  counted_3: { ...COUNTED, policy: { max_rows: 3 } },
  counted_3_error: { ...COUNTED, policy: { max_rows: 3, on_limit: 'error' } },
  counted_3_truncate: { ...COUNTED, policy: { max_rows: 3, on_limit: 'truncate' } },
  texts: TEXTS,
  texts_100: { ...TEXTS, policy: { max_bytes: 100 } },
  texts_2kb: { ...TEXTS, policy: { max_bytes: '2KB' } },
  texts_100_error: { ...TEXTS, policy: { max_bytes: '100B', on_limit: 'error' } },
  umlauts_100: { ...TEXTS, sql: TEXTS.sql.replace("'x'", "'ü'"), policy: { max_bytes: 100 } },
  sleep: { ...SLEEP, policy: { allow_functions: ['pg_sleep'] } },
  sleep_200ms: { ...SLEEP, policy: { timeout: '200ms', allow_functions: ['PG_SLEEP'] } },
  timeout: TIMEOUT,
  timeout_2m: { ...TIMEOUT, policy: { timeout: '2m' } },
};

let station: Station;
beforeAll(async () => {
  station = await startStation(await testDatabase());
  await station.agent(station.file({ capabilities: CAPABILITIES }));
});
afterAll(() => station.stop());

/** The `rows` array as it was sent, and what else the answer says. */
function rowsOf(answer: Answer): { bytes: number; count: number; truncated: boolean } {
  const [, rows = '', count = '', truncated] =
    /^\{"rows":(\[.*\]),"count":(\d+)(,"truncated":true)?\}$/s.exec(answer.text) ?? [];
  return { bytes: Buffer.byteLength(rows), count: Number(count), truncated: truncated !== undefined };
}

describe('policy.max_rows', { tags: ['limit:rows', 'rest:truncated'] }, () => {
  test('is 1000 by default', { tags: ['file:defaults.max_rows', 'capability:policy.on_limit'] }, async () => {
    expect(rowsOf(await station.call('counted', { n: 1000 }))).toMatchObject({
      count: 1000,
      truncated: false,
    });
    expect(rowsOf(await station.call('counted', { n: 1001 }))).toMatchObject({
      count: 1000,
      truncated: true,
    });
  });

  test(
    'cuts the rows, in their order',
    { tags: ['capability:policy.max_rows', 'capability:policy.on_limit'] },
    async () => {
      const rows = [{ id: 1 }, { id: 2 }, { id: 3 }];
      for (const name of ['counted_3', 'counted_3_truncate']) {
        expect((await station.call(name, { n: 3 })).json).toEqual({ rows, count: 3 });
        expect((await station.call(name, { n: 4 })).json).toEqual({ rows, count: 3, truncated: true });
      }
    },
  );

  test(
    'refuses the result under on_limit: error',
    {
      tags: ['capability:policy.on_limit', 'error:AGENT_RESULT_TOO_LARGE'],
    },
    async () => {
      expect((await station.call('counted_3_error', { n: 3 })).status).toBe(200);
      expectRefusal(await station.call('counted_3_error', { n: 4 }), 502, 'AGENT_RESULT_TOO_LARGE');
    },
  );
});

describe('policy.max_bytes', { tags: ['limit:bytes', 'capability:policy.max_bytes'] }, () => {
  // One row is `{"t":"..."}`: 8 bytes and its text. The array adds 2, and a comma between rows.
  const around = 10;

  test.each([
    ['texts', MIB],
    ['texts_100', 100],
    ['texts_2kb', 2048],
  ])(
    'counts the bytes of the rows as sent: %s takes %i',
    { tags: ['file:defaults.max_bytes', 'file:sizes'] },
    async (name, most) => {
      expect(rowsOf(await station.call(name, { lengths: [most - around] }))).toEqual({
        bytes: most,
        count: 1,
        truncated: false,
      });
      const two = [10, most - 2 * around - 9];
      expect(rowsOf(await station.call(name, { lengths: two }))).toEqual({
        bytes: most,
        count: 2,
        truncated: false,
      });
      const over = [10, most - 2 * around - 8];
      expect(rowsOf(await station.call(name, { lengths: over }))).toEqual({
        bytes: 20,
        count: 1,
        truncated: true,
      });
    },
  );

  test('stops at whole rows, the last that fits', async () => {
    const lengths = Array.from({ length: 900 }, (_, index) => 2000 + (index % 7));
    const answer = rowsOf(await station.call('texts', { lengths }));
    expect(answer.truncated).toBe(true);
    expect(answer.bytes).toBeLessThanOrEqual(MIB);
    expect(answer.bytes + 1 + 8 + (lengths[answer.count] ?? 0)).toBeGreaterThan(MIB);
  });

  test('counts bytes, not characters', async () => {
    expect(rowsOf(await station.call('umlauts_100', { lengths: [45] }))).toEqual({
      bytes: 100,
      count: 1,
      truncated: false,
    });
    expectRefusal(await station.call('umlauts_100', { lengths: [46] }), 502, 'AGENT_RESULT_TOO_LARGE');
  });

  test(
    'one row that alone exceeds it is refused, first or later',
    { tags: ['error:AGENT_RESULT_TOO_LARGE'] },
    async () => {
      expect((await station.call('texts_100', { lengths: [90] })).status).toBe(200);
      const message = 'the result is larger than it may be, narrow the request';
      expectRefusal(
        await station.call('texts_100', { lengths: [91] }),
        502,
        'AGENT_RESULT_TOO_LARGE',
        message,
      );
      expectRefusal(await station.call('texts_100', { lengths: [1, 91] }), 502, 'AGENT_RESULT_TOO_LARGE');
    },
  );

  test(
    'refuses the result under on_limit: error',
    {
      tags: ['capability:policy.on_limit', 'error:AGENT_RESULT_TOO_LARGE'],
    },
    async () => {
      expect(rowsOf(await station.call('texts_100_error', { lengths: [40, 41] }))).toMatchObject({
        bytes: 100,
      });
      expectRefusal(
        await station.call('texts_100_error', { lengths: [40, 42] }),
        502,
        'AGENT_RESULT_TOO_LARGE',
      );
    },
  );
});

describe('policy.timeout', { tags: ['limit:timeout', 'capability:policy.timeout'] }, () => {
  async function secondsOf(name: string): Promise<number> {
    const answer = await station.call(name);
    const [, hours = 0, minutes = 0, seconds = 0] = /"t":"(\d\d):(\d\d):([\d.]+)"/.exec(answer.text) ?? [];
    return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  }

  test(
    'is 30 s by default, and what the capability says otherwise',
    { tags: ['file:defaults.timeout'] },
    async () => {
      // What is left of it when the query begins.
      expect(await secondsOf('timeout')).toSatisfy((left: number) => left > 29 && left <= 30);
      expect(await secondsOf('timeout_2m')).toSatisfy((left: number) => left > 119 && left <= 120);
    },
  );

  test(
    'ends the query',
    { tags: ['error:AGENT_QUERY_TIMEOUT', 'capability:policy.allow_functions'] },
    async () => {
      const started = performance.now();
      expectRefusal(
        await station.call('sleep_200ms', { seconds: 20 }),
        504,
        'AGENT_QUERY_TIMEOUT',
        'the query took longer than it may',
      );
      expect(performance.now() - started).toBeLessThan(5000);
      expect((await station.call('sleep_200ms', { seconds: 0 })).status).toBe(200);
    },
  );
});
