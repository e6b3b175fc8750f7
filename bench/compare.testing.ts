import type { MeasuredCase, Slot } from './compare-measure.ts';

/** A slot in which a call took so many microseconds of the service and none of the database. */
export function slot(round: number, cpuMicroseconds: number, more: Partial<Slot> = {}): Slot {
  return {
    round,
    others: 0,
    isVoid: false,
    calls: 10_000,
    failed: 0,
    failure: '',
    callsPerSecond: 10_000,
    p50Ms: 1,
    p99Ms: 2,
    cpuMicroseconds,
    databaseMicroseconds: 0,
    generatorMicroseconds: 5,
    processes: {},
    ...more,
  };
}

/** A case of one row over REST at 32 connections. */
export function measuredCase(name: MeasuredCase['name'], slots: readonly Slot[]): MeasuredCase {
  return {
    workload: 'point-32',
    title: 'One row',
    connections: 32,
    name,
    contestant: name,
    face: 'REST',
    slots,
  };
}

/** Twenty rounds, each with its own CPU of a call. */
export function twentySlots(cpu: (round: number) => number): readonly Slot[] {
  return Array.from({ length: 20 }, (_, at) => slot(at + 1, cpu(at + 1)));
}
