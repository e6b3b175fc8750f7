import { expect, test } from 'vitest';
import { createMetricsRegister, createMetricsSum, DURATION_BOUNDS, type Sample } from './register.ts';

async function linesOf(register: { text(): Promise<string> }, name: string): Promise<readonly string[]> {
  return (await register.text()).split('\n').filter((line) => line.startsWith(name));
}

test('a reading has one sample for each combination of labels that there is now', async () => {
  const register = await createMetricsRegister();
  let samples: readonly Sample[] = [];
  const labels = ['a', 'b'];
  register.addReading({ name: 'm', type: 'counter', labels, help: 'Help.' }, () => samples);
  expect(await linesOf(register, 'm{')).toEqual([]);
  samples = [
    [['x', 200], 1],
    [['', 404], 2],
  ];
  const lines = ['m{a="x",b="200"} 1', 'm{a="",b="404"} 2'];
  expect(await linesOf(register, 'm{')).toEqual(lines);
  expect(await linesOf(register, 'm{')).toEqual(lines);
  samples = samples.slice(1);
  expect(await linesOf(register, 'm{')).toEqual(lines.slice(1));
});

test('a reading without labels has no sample while there is none', async () => {
  const register = await createMetricsRegister();
  let samples: readonly Sample[] = [];
  register.addReading({ name: 'm', type: 'counter', labels: [], help: 'Help.' }, () => samples);
  expect(await linesOf(register, 'm ')).toEqual([]);
  samples = [[[], 3]];
  expect(await linesOf(register, 'm ')).toEqual(['m 3']);
  samples = [];
  expect(await linesOf(register, 'm ')).toEqual([]);
});

test('durations are milliseconds, a bound belongs to its own bucket', async () => {
  const register = await createMetricsRegister();
  const durationsOf = register.addDurations({ name: 'd', type: 'histogram', labels: ['l'], help: 'Help.' });
  const add = durationsOf(['x']);
  for (const milliseconds of [0, 0.5, 0.6, 30_000, 30_001]) add(milliseconds);
  durationsOf(['y'])(1);
  expect(await linesOf(register, 'd_')).toEqual(
    expect.arrayContaining([
      'd_bucket{le="0.0005",l="x"} 2',
      'd_bucket{le="0.001",l="x"} 3',
      'd_bucket{le="10",l="x"} 3',
      'd_bucket{le="30",l="x"} 4',
      'd_bucket{le="+Inf",l="x"} 5',
      'd_count{l="x"} 5',
      'd_count{l="y"} 1',
    ]),
  );
});

test('bounds reach from half a millisecond to half a minute, and grow', () => {
  expect([DURATION_BOUNDS[0], DURATION_BOUNDS.at(-1)]).toEqual([0.0005, 30]);
  expect(DURATION_BOUNDS).toEqual(DURATION_BOUNDS.toSorted((a, b) => a - b));
});

test('OpenMetrics has the newest exemplar of each bucket, from all processes', async () => {
  const metric = { name: 'd', type: 'histogram', labels: ['l'], help: 'Help "me".' } as const;
  const traceId = (digit: string): string => digit.repeat(32);
  const registers = await Promise.all([createMetricsRegister(true), createMetricsRegister(true)]);
  for (const [at, register] of registers.entries()) {
    const add = register.addDurations(metric)(['a\nb']);
    add(3, traceId(String(at)));
    add(4);
    add(60_000, traceId('f'));
    register.addReading({ name: 'c_total', type: 'counter', labels: [], help: 'Help.' }, () => 2);
  }
  const sum = await createMetricsSum();
  const page = await sum.openMetricsText(await Promise.all(registers.map((register) => register.snapshot())));
  const lines = page.split('\n');
  expect(lines).toContain('# TYPE c counter');
  expect(lines).toContain('c_total 4');
  expect(lines).toContain('# HELP d Help \\"me\\".');
  expect(page).toMatch(/^d_bucket\{le="0.005",l="a\\nb"\} 4 # \{trace_id="[01]{32}"\} 0.003 \d{10}\.\d{3}$/m);
  expect(page).toMatch(/^d_bucket\{le="\+Inf",l="a\\nb"\} 6 # \{trace_id="f{32}"\} 60 \d{10}\.\d{3}$/m);
  expect(lines.filter((line) => line.includes(' # {'))).toHaveLength(2);
  expect(page.endsWith('\n# EOF\n')).toBe(true);
  expect(await registers[0].text()).not.toContain('trace_id');
});

test('without exemplars there is one format', async () => {
  expect(await createMetricsRegister()).toMatchObject({ openMetricsText: undefined });
});
