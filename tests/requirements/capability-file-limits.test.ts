import { testDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startStation, type Station } from './station.testing.ts';

const one = { sql: 'select 1 as one', result: { one: { type: 'integer' } } };

let station: Station;
beforeAll(async () => {
  station = await startStation(await testDatabase());
});
afterAll(() => station.stop());

describe('defaults', () => {
  const limits = {
    sql: "select current_setting('statement_timeout')::interval::text as t, i from generate_series(1, 50) i",
    result: { t: { type: 'string' }, i: { type: 'integer' } },
  };

  test(
    'hold for capabilities that do not say otherwise',
    {
      tags: ['file:defaults.timeout', 'file:defaults.max_rows', 'file:defaults.max_bytes', 'file:durations'],
    },
    async () => {
      const row = '{"t":"00:00:00.000","i":1}';
      const defaults = { timeout: '1m30s', max_rows: 5, max_bytes: '1KB' };
      const policy = { timeout: '500ms', max_rows: 20, max_bytes: row.length * 2 };
      const capabilities = { falls_back: limits, overrides: { ...limits, policy } };
      await station.withAgent({ defaults, capabilities }, async () => {
        const fallen = await station.call('falls_back');
        expect(fallen.json).toMatchObject({ count: 5, truncated: true });
        expect(fallen.text).toMatch(/"t":"00:01:(29|30)/);
        expect((await station.call('overrides')).text).toMatch(
          /^\{"rows":\[\{"t":"00:00:00\.[45]\d*","i":1\}/,
        );
      });
      await station.withAgent(
        { defaults: { ...defaults, max_rows: 1000, max_bytes: 100 }, capabilities },
        async () => {
          const { text } = await station.call('falls_back');
          expect(text.slice(text.indexOf('['), text.indexOf(']') + 1).length).toBeLessThanOrEqual(100);
          expect((await station.call('falls_back')).json).toMatchObject({ truncated: true });
        },
      );
    },
  );

  test('readonly is true, and false is refused', { tags: ['file:defaults.readonly'] }, async () => {
    expect((await station.check({ defaults: { readonly: true } })).code).toBe(0);
    const { code, text } = await station.check({ defaults: { readonly: false } });
    expect(code).toBe(2);
    expect(text).toContain('defaults.readonly: must be true: the service only reads');
    await station.withAgent(
      {
        capabilities: {
          mode: {
            sql: "select current_setting('transaction_read_only') as m",
            result: { m: { type: 'string' } },
          },
        },
      },
      async () => expect((await station.call('mode')).json).toEqual({ rows: [{ m: 'on' }], count: 1 }),
    );
  });

  test(
    'durations have the units ms, s, m, h and are sums of them',
    { tags: ['file:durations'] },
    async () => {
      const seconds = { '900ms': 0.9, '30s': 30, '2m': 120, '1h': 3600, '1m30s': 90, '1h1m1s1ms': 3661.001 };
      const capabilities = Object.fromEntries(
        Object.keys(seconds).map((timeout) => [
          `t_${timeout}`,
          {
            sql: "select extract(epoch from current_setting('statement_timeout')::interval)::float8 as t",
            policy: { timeout },
            result: { t: { type: 'number' } },
          },
        ]),
      );
      await station.withAgent({ capabilities }, async () => {
        for (const [timeout, expected] of Object.entries(seconds)) {
          const { text } = await station.call(`t_${timeout}`);
          const left = Number(/"t":([\d.]+)/.exec(text)?.[1]);
          expect({ timeout, soon: left <= expected && left > expected - 0.5 }).toEqual({
            timeout,
            soon: true,
          });
        }
      });
    },
  );

  test('other durations are refused', { tags: ['file:durations'] }, async () => {
    const wrong = ['30', '1.5s', '30 s', '30s1m', '1m1m', '-1s', '1d', 's', '', '0s', '24h1ms'];
    expect(await refusedValues('timeout', [...wrong, '24h', '1ms'])).toEqual(wrong);
  });
});

/** The values that are refused for this key of `policy`, found by one check of as many capabilities. */
async function refusedValues(key: string, values: readonly unknown[]): Promise<readonly unknown[]> {
  const capabilities = Object.fromEntries(
    values.map((value, index) => [`c${index}`, { ...one, policy: { [key]: value } }]),
  );
  const { code, text } = await station.check({ capabilities });
  expect(code).toBe(2);
  const found = [...text.matchAll(/ {2}capabilities\.c(\d+)\.policy\.(\w+): must be /g)];
  expect(found.every(([, , name]) => name === key)).toBe(true);
  return found.map(([, index]) => values[Number(index)]);
}

describe('sizes', { tags: ['file:sizes'] }, () => {
  // The greatest result is 64MB, the least log file 1KB, and no size is beyond 2^53-1 bytes: what is accepted at these
  // bounds tells what a unit means.
  test('are integers with B, KB and MB in any case', async () => {
    const good = [67_108_864, '67108864b', '65536KB', '65536kb', '64MB', '64mB', 2, '2B', '1Kb'];
    const wrong = [
      67_108_865,
      '65537KB',
      '65MB',
      '1GB',
      1,
      '0',
      '1.5KB',
      '-1KB',
      'MB',
      '10 megabytes',
      '1TB',
      '',
    ];
    expect(await refusedValues('max_bytes', [...good, ...wrong])).toEqual(wrong);
  });

  test('have gigabytes, too', { tags: ['file:logging.max_size'] }, async () => {
    expect(await station.check({ logging: { max_size: '8388607gb' } })).toMatchObject({ code: 0 });
    expect(await station.check({ logging: { max_size: '8388608GB' } })).toMatchObject({ code: 2 });
  });

  test('of a log file are at least 1KB', { tags: ['file:logging.max_size'] }, async () => {
    expect(await station.check({ logging: { max_size: 1024 } })).toMatchObject({ code: 0 });
    const { code, text } = await station.check({ logging: { max_size: '1023B' } });
    expect(code).toBe(2);
    expect(text).toContain('logging.max_size: must be at least 1KB');
  });
});

test('a file whose description is longer than a gateway takes is refused, with how long it is', async () => {
  const numbered = (count: number): Record<string, unknown> =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`c${at}`, one]));
  const { code, text } = await station.check({ capabilities: numbered(20_000) });
  expect(code).toBe(2);
  const [, length] = /capabilities: are described to callers in ([\d.]+)MB, .*takes 8MB/.exec(text) ?? [];
  expect(Number(length)).toBeGreaterThan(8);
});
