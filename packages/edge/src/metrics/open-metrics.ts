import type { MetricObjectWithValues, MetricValue } from 'prom-client';

/** One of the calls that a bucket counts, with the trace that recorded it. */
export interface Exemplar {
  readonly traceId: string;
  /** Seconds, as the bucket counts them. */
  readonly value: number;
  readonly time: number;
}

/** A value of a metric as it is handed from process to process. */
type ShownValue = MetricValue<string> & {
  readonly metricName?: string;
  /** The newest of the bucket, if traces are made. prom-client puts null. */
  readonly exemplar?: Exemplar | null;
};

/** All metrics of a process as they are at one moment, to be summed elsewhere. */
export type MetricsSnapshot = readonly MetricObjectWithValues<ShownValue>[];

const TOTAL = /_total$/;

/**
 * OpenMetrics 1.0, which alone has exemplars. prom-client writes one format or the other and renames the counters of its
 * register for this one.
 */
export function openMetricsText(snapshot: MetricsSnapshot): string {
  const lines = snapshot.flatMap((metric) => {
    const isCounter = String(metric.type) === 'counter';
    const name = isCounter ? metric.name.replace(TOTAL, '') : metric.name;
    return [
      `# HELP ${name} ${escaped(metric.help)}`,
      `# TYPE ${name} ${isCounter || !TOTAL.test(name) ? metric.type : 'unknown'}`,
      ...metric.values.map((value) =>
        lineOf(value.metricName ?? (isCounter ? `${name}_total` : name), value),
      ),
    ];
  });
  return `${lines.join('\n')}\n# EOF\n`;
}

function lineOf(name: string, { labels, value, exemplar }: ShownValue): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(String(text))}"`);
  const sample = `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${numberText(value)}`;
  if (!exemplar) return sample;
  return `${sample} # {trace_id="${exemplar.traceId}"} ${exemplar.value} ${exemplar.time.toFixed(3)}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

/** By the name of the bucket and its labels, in any order. */
type Exemplars = Map<string, Exemplar>;

export function withExemplars(
  snapshot: MetricsSnapshot,
  exemplars: ReadonlyMap<string, Exemplar>,
): MetricsSnapshot {
  if (exemplars.size === 0) return snapshot;
  return snapshot.map((metric) => ({
    ...metric,
    values: metric.values.map((value) => {
      const exemplar = value.metricName && exemplars.get(bucketKey(value.metricName, value.labels));
      return exemplar ? { ...value, exemplar } : value;
    }),
  }));
}

/** The newest exemplar of each bucket over several processes. */
export function exemplarsOf(snapshots: readonly MetricsSnapshot[]): Exemplars {
  const found: Exemplars = new Map();
  for (const { values } of snapshots.flat()) {
    for (const { metricName = '', labels, exemplar } of values) {
      if (!exemplar) continue;
      const key = bucketKey(metricName, labels);
      if ((found.get(key)?.time ?? 0) < exemplar.time) found.set(key, exemplar);
    }
  }
  return found;
}

export function bucketKey(name: string, labels: MetricValue<string>['labels']): string {
  const pairs = Object.entries(labels).map(([label, value]) => [label, String(value)]);
  return JSON.stringify([name, ...pairs.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1))]);
}
