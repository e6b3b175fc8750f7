import { expect, test } from 'vitest';
import { POINT, type Ratio } from './compare-figures.ts';
import { documentText, readDocument, second, type CompareDocument } from './compare-report.ts';
import { measuredCase, slot } from './compare.testing.ts';

function run(started: string, ratios: readonly Ratio[] = []): CompareDocument {
  const machine = {
    date: '',
    cores: 2,
    cpu: '',
    memoryGigabytes: 4,
    kernel: '',
    node: '',
    postgres: '',
    wrk: '',
  };
  return {
    machine,
    run: { version: '1.0.0', started, rounds: 20, seconds: 1, seed: 7, databaseConnections: 10 },
    contestants: [],
    ratios,
    goals: [],
    counted: { memory: {}, rollbacks: undefined, agentWrites: undefined },
    cases: [],
  };
}

function ratio(figure: Ratio['figure'], median: number): Ratio {
  return { ...POINT, figure, to: 'toolbox', measured: { median, low: median - 0.05, high: median + 0.05 } };
}

const first = run('2026-01-01 10:00 UTC', [ratio('cpu', 0.8), ratio('throughput', 1.2)]);

test('a second run agrees when each of its medians lies within the interval of the first', () => {
  const again = run('2026-01-02 20:00 UTC', [ratio('cpu', 0.84), ratio('throughput', 1.16)]);
  expect(second(first, again)).toBe(
    '[A second run](performance/bench-second.json), of svc 1.0.0, 2026-01-02 20:00 UTC, agrees: the median of each ratio lies within the interval shown here.',
  );
});

test('a second run that does not agree is told with its own figures', () => {
  const again = run('2026-01-02 20:00 UTC', [ratio('cpu', 0.84), ratio('throughput', 1.3)]);
  expect(second(first, again)).toMatch(
    /does not agree in 1 of 2 ratios, .*:\n\n- one row, REST, 32 connections, throughput to MCP Toolbox: 1\.30 x \(1\.25 to 1\.35\)$/,
  );
});

test('the kept document has every slot, void ones as well, and what was not told as not a number', () => {
  const slots = [slot(1, 10, { isVoid: true, others: 0.2 }), slot(1, 11, { p50Ms: Number.NaN })];
  const document = { ...first, cases: [measuredCase('svc', slots)] };
  const text = documentText(document);
  expect(text.split('\n').filter((line) => line.includes('"isVoid":true'))).toHaveLength(1);
  expect(readDocument(text).cases).toEqual(document.cases);
});
