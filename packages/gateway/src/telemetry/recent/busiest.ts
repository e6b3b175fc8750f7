import type { Counted, CountedCapability } from './batch.ts';
import { LATENCY_BUCKETS, p95Ms } from './latency-buckets.ts';

/** A quarter of an hour. */
export const STEPS = 180;
/** Rates and times are those of the last minute. */
const RECENT_STEPS = 12;
/** Each series takes 30 KB, with its latencies. */
const SERIES_MAX = 200;
/** Further names that are counted, because they may get a series. */
const OTHERS_MAX = 10_000;

/** The last steps of one capability, or of all together. */
export interface CallSeries {
  readonly service: string;
  readonly capability: string;
  readonly lastError: string;
  at(step: number): { readonly calls: number; readonly errors: number; readonly p95Ms: number | null };
  /** Of the last minute. */
  recent(step: number): { readonly calls: number; readonly errors: number; readonly p95Ms: number | null };
  add(step: number, counted: Counted): void;
}

export function createSeries(service: string, capability: string): CallSeries {
  const calls = new Uint32Array(STEPS);
  const errors = new Uint32Array(STEPS);
  const latency = new Uint32Array(STEPS * LATENCY_BUCKETS);
  let lastError = '';
  let newest = 0;

  /** Clears the slots of steps that are older than a quarter of an hour. */
  function advance(step: number): void {
    for (let next = Math.max(newest + 1, step - STEPS + 1); next <= step; next++) {
      const slot = next % STEPS;
      calls[slot] = 0;
      errors[slot] = 0;
      latency.fill(0, slot * LATENCY_BUCKETS, (slot + 1) * LATENCY_BUCKETS);
    }
    newest = Math.max(newest, step);
  }

  return {
    service,
    capability,
    get lastError() {
      return lastError;
    },
    at(step) {
      advance(step);
      const slot = step % STEPS;
      return {
        calls: calls[slot] ?? 0,
        errors: errors[slot] ?? 0,
        p95Ms: p95Ms(latency, slot * LATENCY_BUCKETS),
      };
    },
    recent(step) {
      advance(step);
      const sum = new Uint32Array(LATENCY_BUCKETS);
      let [allCalls, allErrors] = [0, 0];
      for (let past = step - RECENT_STEPS + 1; past <= step; past++) {
        const slot = past % STEPS;
        allCalls += calls[slot] ?? 0;
        allErrors += errors[slot] ?? 0;
        add(sum, 0, latency, slot * LATENCY_BUCKETS);
      }
      return { calls: allCalls, errors: allErrors, p95Ms: p95Ms(sum) };
    },
    add(step, counted) {
      if (step <= newest - STEPS) return;
      advance(step);
      const slot = step % STEPS;
      calls[slot] = (calls[slot] ?? 0) + counted.calls;
      errors[slot] = (errors[slot] ?? 0) + counted.errors;
      add(latency, slot * LATENCY_BUCKETS, counted.latency, 0);
      if (counted.lastError !== '') ({ lastError } = counted);
    },
  };
}

function add(to: Uint32Array, toBegin: number, from: Uint32Array, fromBegin: number): void {
  for (let bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
    to[toBegin + bucket] = (to[toBegin + bucket] ?? 0) + (from[fromBegin + bucket] ?? 0);
  }
}

/** The series of the busiest capabilities. Beyond their bound, a busier one replaces the least busy within a minute. */
export interface Busiest {
  add(step: number, counted: CountedCapability): void;
  readonly all: Iterable<CallSeries>;
}

export function createBusiest(seriesMax: number = SERIES_MAX): Busiest {
  const kept = new Map<string, CallSeries>();
  const others = new Map<string, { readonly service: string; readonly capability: string; calls: number }>();
  let comparedAt = 0;
  const nameOf = ({ service, capability }: CountedCapability): string => `${service} ${capability}`;

  function compare(step: number): void {
    comparedAt = step;
    const least = Array.from(kept, ([name, series]) => ({ name, calls: series.recent(step).calls })).toSorted(
      (a, b) => a.calls - b.calls,
    );
    const most = [...others].toSorted(([, a], [, b]) => b.calls - a.calls);
    for (const [index, [name, { service, capability, calls }]] of most.entries()) {
      const replaced = least[index];
      if (replaced === undefined || replaced.calls >= calls) break;
      kept.delete(replaced.name);
      kept.set(name, createSeries(service, capability));
    }
    others.clear();
  }

  return {
    add(step, counted) {
      const { service, capability, calls } = counted;
      if (calls === 0) return;
      if (others.size > 0 && step - comparedAt >= RECENT_STEPS) compare(step);
      const name = nameOf(counted);
      let series = kept.get(name);
      if (series === undefined && kept.size < seriesMax) {
        series = createSeries(service, capability);
        kept.set(name, series);
      }
      if (series !== undefined) {
        series.add(step, counted);
        return;
      }
      const other = others.get(name);
      if (other !== undefined) other.calls += calls;
      else if (others.size < OTHERS_MAX) {
        if (others.size === 0) comparedAt = step;
        others.set(name, { service, capability, calls });
      }
    },
    get all() {
      return kept.values();
    },
  };
}
