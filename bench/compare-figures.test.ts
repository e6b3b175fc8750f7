import { describe, expect, test } from 'vitest';
import { medianOf, pageRatios, ratioOf, whyNotQuiet } from './compare-figures.ts';
import { measuredCase, slot, twentySlots } from './compare.testing.ts';

const isVoid = true;

describe('a ratio', () => {
  test('is taken within each round: the machine may be twice as slow in the next', () => {
    const ours = twentySlots((round) => 10 * round * (1 + round / 100));
    const theirs = twentySlots((round) => 10 * round);
    // The ratios are 1.01 to 1.20.
    const ratio = ratioOf('cpu', { slots: ours }, { slots: theirs });
    expect(ratio?.median).toBeCloseTo(1.105);
    expect(ratio?.low).toBeCloseTo(1.06);
    expect(ratio?.high).toBeCloseTo(1.15);
  });

  test('leaves out void slots, and rounds in which one of the two has only such', () => {
    const ours = [slot(1, 900, { isVoid }), slot(1, 20), slot(2, 30), slot(3, 40)];
    const theirs = [slot(1, 10), slot(2, 1, { isVoid }), slot(3, 10)];
    // 2 in the first round, 4 in the third.
    expect(ratioOf('cpu', { slots: ours }, { slots: theirs })?.median).toBe(3);
    expect(medianOf({ slots: ours }, ({ cpuMicroseconds }) => cpuMicroseconds)).toBe(30);
  });

  test('is not told where none counts', () => {
    const none = { slots: [slot(1, 10, { isVoid })] };
    expect(ratioOf('cpu', none, { slots: [slot(1, 10)] })).toBeUndefined();
    expect(ratioOf('cpu', undefined, none)).toBeUndefined();
  });

  test('with the database adds the CPU of both', () => {
    const [ours, theirs] = [
      slot(1, 20, { databaseMicroseconds: 10 }),
      slot(1, 40, { databaseMicroseconds: 20 }),
    ];
    expect(ratioOf('withDatabase', { slots: [ours] }, { slots: [theirs] })?.median).toBe(0.5);
  });

  test('of the page is there when both were measured', () => {
    const cases = (['svc', 'toolbox'] as const).map((name) =>
      measuredCase(
        name,
        twentySlots(() => 10),
      ),
    );
    expect(pageRatios(cases).map(({ figure, to }) => `${figure} to ${to}`)).toEqual([
      'withDatabase to toolbox',
      'cpu to toolbox',
      'throughput to toolbox',
    ]);
  });
});

describe('the machine', () => {
  const alike = (['svc', 'svc-again'] as const).map((name) =>
    measuredCase(
      name,
      twentySlots(() => 10),
    ),
  );

  test('is quiet when all slots count and two services of the same executables look alike', () => {
    expect(whyNotQuiet(alike, 20)).toBeUndefined();
  });

  test('is quiet with a third of the slots void, not with more', () => {
    const withVoid = (most: number) => {
      const slots = [1, 2, 3, 4, 5, 6].map((round) => slot(round, 10, { isVoid: round <= most }));
      return [measuredCase('toolbox', slots)];
    };
    expect(whyNotQuiet(withVoid(2), 6)).toBeUndefined();
    expect(whyNotQuiet(withVoid(3), 6)).toBe('the machine is not quiet: 3 of 6 slots stayed void');
  });

  test('is not quiet when 1 lies outside the interval of a headline figure', () => {
    const slower = measuredCase(
      'svc-again',
      twentySlots((round) => (round <= 14 ? 8 : 10)),
    );
    const [svc = slower] = alike;
    expect(whyNotQuiet([svc, slower], 20)).toBeUndefined();
    const always = measuredCase(
      'svc-again',
      twentySlots((round) => (round <= 15 ? 8 : 10)),
    );
    expect(whyNotQuiet([svc, always], 20)).toBe(
      'the machine is not quiet: two services of the same executables differ by 1.25 to 1.25 x in CPU with the database, one row, REST, 32 connections',
    );
  });
});
