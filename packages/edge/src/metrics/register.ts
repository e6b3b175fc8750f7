import type { Histogram } from 'prom-client';
import {
  bucketKey,
  exemplarsOf,
  openMetricsText,
  withExemplars,
  type Exemplar,
  type MetricsSnapshot,
} from './open-metrics.ts';

/** What a metric is, for scrapes and for the reference. */
export interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
}

/** The values of the labels in their order, and the value. */
export type Sample = readonly [labels: readonly (string | number)[], value: number];

type Reading = () => number | Iterable<Sample>;

/**
 * Adds one duration, in milliseconds, to the series of one combination of labels. With the id of its trace, where that is
 * recorded, it becomes an exemplar.
 */
export type AddDuration = (milliseconds: number, traceId?: string) => void;

export interface MetricsPage {
  /** The text format of Prometheus, version 0.0.4. */
  text(): Promise<string>;
  /** OpenMetrics, for those who ask for it; absent where there are no exemplars to show. */
  readonly openMetricsText?: (() => Promise<string>) | undefined;
}

export interface MetricsRegister extends MetricsPage {
  /** All but those of the process itself. */
  readonly metrics: readonly Metric[];
  /** Read at each scrape, so that no call pays for it. */
  addReading(metric: Metric & { readonly type: 'counter' | 'gauge' }, read: Reading): void;
  /** Returns what finds the series of some values of the labels; keep what it gives. */
  addDurations(metric: Metric & { readonly type: 'histogram' }): (labels: Sample[0]) => AddDuration;
  snapshot(): Promise<MetricsSnapshot>;
}

/** The metrics of several processes as those of one. */
export interface MetricsSum {
  /** As `text` of a register. What cannot be summed, as the time of the start, is that of the first. */
  text(snapshots: readonly MetricsSnapshot[]): Promise<string>;
  openMetricsText(snapshots: readonly MetricsSnapshot[]): Promise<string>;
  /** What processes that have ended leave in every sum: their counters and histograms. */
  counted(snapshots: readonly MetricsSnapshot[]): Promise<MetricsSnapshot>;
}

/** Seconds. From a cached answer to the longest query that a caller is likely to wait for. */
export const DURATION_BOUNDS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

/**
 * prom-client calls some gauges `_total`, which linters let pass for counters and for what has no type only. Their names
 * stay, since dashboards know them.
 */
const SUMS_OF_GAUGES = /^(# TYPE nodejs_\w+_total) gauge$/gm;

const GROWING: ReadonlySet<string> = new Set(['counter', 'histogram']);

/**
 * Begins with memory, CPU, event loop and garbage collection, under the names that dashboards know. With `hasExemplars` its
 * durations may name traces.
 */
export async function createMetricsRegister(hasExemplars = false): Promise<MetricsRegister> {
  // Loaded by those who want metrics only: it takes longer than all the rest of a start.
  const { collectDefaultMetrics, Gauge, Counter, Histogram, Registry } = await import('prom-client');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const metrics: Metric[] = [];
  const exemplars = new Map<string, Exemplar>();
  const snapshot = async (): Promise<MetricsSnapshot> =>
    withExemplars(await registry.getMetricsAsJSON(), exemplars);
  const optionsOf = ({ name, help, labels }: Metric) => ({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
  });
  return {
    metrics,
    addReading(metric, read) {
      metrics.push(metric);
      const collect = (): void => {
        instrument.reset();
        const reading = read();
        if (typeof reading === 'number') {
          instrument.inc(reading);
          return;
        }
        // Without labels, 0 would stand for a sample that is not there.
        if (metric.labels.length === 0) instrument.remove();
        for (const [labels, value] of reading) instrument.inc(named(metric, labels), value);
      };
      const options = { ...optionsOf(metric), collect };
      const instrument = metric.type === 'counter' ? new Counter(options) : new Gauge(options);
    },
    addDurations(metric) {
      metrics.push(metric);
      const histogram: Histogram = new Histogram({ ...optionsOf(metric), buckets: [...DURATION_BOUNDS] });
      return (labels) => {
        const names = named(metric, labels);
        const series = histogram.labels(names);
        if (!hasExemplars) return (milliseconds) => series.observe(milliseconds / 1000);
        const keys = [...DURATION_BOUNDS, '+Inf'].map((le) =>
          bucketKey(`${metric.name}_bucket`, { le, ...names }),
        );
        return (milliseconds, traceId = '') => {
          const value = milliseconds / 1000;
          series.observe(value);
          if (traceId === '') return;
          const at = DURATION_BOUNDS.findIndex((bound) => value <= bound);
          exemplars.set(keys.at(at) ?? '', { traceId, value, time: Date.now() / 1000 });
        };
      };
    },
    text: async () => typedText(await registry.metrics()),
    openMetricsText: hasExemplars ? async () => openMetricsText(await snapshot()) : undefined,
    snapshot,
  };
}

export async function createMetricsSum(): Promise<MetricsSum> {
  const { AggregatorRegistry } = await import('prom-client');
  // Its types say a registry, of which it takes what registries give as JSON.
  const sum = (snapshots: readonly MetricsSnapshot[]) =>
    AggregatorRegistry.aggregate(snapshots.map((snapshot) => [...snapshot]));
  const page = ([first = [], ...others]: readonly MetricsSnapshot[]) => {
    const single = first.map((metric) =>
      isSummed(metric) ? metric : { ...metric, aggregator: 'first' as const },
    );
    return sum([single, ...others.map((snapshot) => snapshot.filter(isSummed))]);
  };
  return {
    text: async (snapshots) => typedText(await page(snapshots).metrics()),
    async openMetricsText(snapshots) {
      return openMetricsText(withExemplars(await page(snapshots).getMetricsAsJSON(), exemplarsOf(snapshots)));
    },
    async counted(snapshots) {
      const grow = (snapshot: MetricsSnapshot): MetricsSnapshot =>
        snapshot.filter(({ type }) => GROWING.has(String(type)));
      return sum(snapshots.map(grow)).getMetricsAsJSON();
    },
  };
}

function isSummed({ aggregator }: MetricsSnapshot[number]): boolean {
  return aggregator !== 'omit';
}

function typedText(text: string): string {
  return text.replace(SUMS_OF_GAUGES, '$1 untyped');
}

function named({ labels: names }: Metric, values: Sample[0]): Record<string, string | number> {
  return Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']));
}
