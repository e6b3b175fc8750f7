import { expect, test } from 'vitest';
import type { StdioName } from './contestants.ts';
import { judgeStdio } from './goals.ts';
import type { MeasuredStdio, StdioSlot } from './measure.ts';

const SIZES = { executable: 4.7, tarball: 3.6 };

function measured(name: StdioName, of: (round: number) => Partial<StdioSlot>): MeasuredStdio {
  const slots = Array.from({ length: 20 }, (_, at) => ({
    round: at + 1,
    others: 0,
    isVoid: false,
    listMs: 400,
    rowsMs: 410,
    restMegabytes: 80,
    processes: 1,
    afterMegabytes: 110,
    callsPerSecond: 9000,
    cpuMicroseconds: 60,
    databaseMicroseconds: 20,
    ...of(at + 1),
  }));
  return { name, title: name, slots };
}

function verdicts(...args: Parameters<typeof judgeStdio>): Readonly<Record<string, string>> {
  return Object.fromEntries(judgeStdio(...args).map(({ title, verdict }) => [title, verdict]));
}

test('a start is judged by its ratio to that of the peer in the same round', () => {
  const all = [
    measured('svc', (round) => ({ listMs: 360 * round, rowsMs: 400 * round })),
    measured('dbhub', (round) => ({ listMs: 400 * round, rowsMs: 400 * round })),
    measured('svc-file', () => ({ listMs: 100 })),
    measured('svc-url', (round) => ({ listMs: 160 + round })),
  ];
  expect(verdicts(all, SIZES)).toMatchObject({
    'to DBHub: start to list': 'met',
    'to DBHub: start to rows': 'missed',
    // The interval is 1.66 to 1.75.
    '--url to a file, 12 tables: start to list': 'open',
    'to MCP Toolbox: CPU, 16 at once': 'not measured',
  });
});

test('memory, processes and sizes are judged as they are', () => {
  const all = [measured('svc', () => ({ restMegabytes: 91, processes: 2 }))];
  expect(verdicts(all, SIZES)).toMatchObject({
    'resident memory at rest': 'missed',
    'resident memory after 10,000 calls': 'met',
    'at rest': 'missed',
    'size of svc': 'met',
    'size of the npm package': 'missed',
  });
});

test('void slots do not count', () => {
  const all = [measured('svc', (round) => ({ isVoid: round > 1, restMegabytes: 80 * round }))];
  const memory = judgeStdio(all, SIZES).find(({ title }) => title === 'resident memory at rest');
  expect(memory?.measured?.median).toBe(80);
});
