import type { Metric } from '@svc/edge';

/** A query whose metrics and labels are those of the code. */
export interface Queries {
  /** Of a counter: how much a second. */
  rate(name: string, options?: QueryOptions): string;
  /** Of a counter: how much in a time such as `1h`. */
  increase(name: string, time: string, options?: QueryOptions): string;
  /** Of a gauge. */
  value(name: string, options?: QueryOptions): string;
  /** Of a histogram, in its unit. */
  quantile(share: number, name: string, options?: QueryOptions): string;
  /** Of the processes that have our metrics, since other programs have metrics of this name too. */
  process(expression: string): string;
  /** Metrics that no query had so far. */
  unused(): readonly Metric[];
}

interface QueryOptions {
  /** Labels that are kept; default none. `instance` and `job` come from the scrape. */
  readonly by?: readonly string[];
  /** Further matchers, such as `code="AGENT_BUSY"`. */
  readonly where?: string;
  /** How series are put together; default `sum`. */
  readonly merge?: 'sum' | 'min' | 'max';
}

/** Labels of a scrape, which every metric has. */
const TARGET_LABELS = ['job', 'instance'];
/** Where somebody chooses on the dashboard; only metrics that have the label are narrowed by it. */
const CHOSEN_LABELS = ['service', 'capability'] as const;

/** `anchor` is a metric that each of the processes has exactly once. */
export function createQueries(metrics: readonly Metric[], anchor: string): Queries {
  const byName = new Map(metrics.map((metric) => [metric.name, metric]));
  const used = new Set<string>();

  function find(name: string, type: Metric['type'], { by = [], where = '' }: QueryOptions): Metric {
    const metric = byName.get(name);
    if (metric?.type !== type) throw new Error(`there is no ${type} ${name}`);
    const named = [...by, ...[...where.matchAll(/(\w+)[!=]/g)].map(([, label = '']) => label)];
    const unknown = named.filter((label) => ![...TARGET_LABELS, ...metric.labels].includes(label));
    if (unknown.length > 0) throw new Error(`${name} has no label ${unknown.join(', ')}`);
    used.add(name);
    return metric;
  }

  function selector(metric: Metric, suffix: string, where = ''): string {
    const chosen = CHOSEN_LABELS.filter((label) => metric.labels.includes(label));
    const matchers = [...TARGET_LABELS, ...chosen].map((label) => `${label}=~"$${label}"`);
    return `${metric.name}${suffix}{${[...matchers, ...(where === '' ? [] : [where])].join(', ')}}`;
  }

  function merged(expression: string, { by = [], merge = 'sum' }: QueryOptions): string {
    return by.length === 0 ? `${merge}(${expression})` : `${merge} by (${by.join(', ')}) (${expression})`;
  }

  const counted = (change: string, time: string, name: string, options: QueryOptions): string =>
    merged(`${change}(${selector(find(name, 'counter', options), '', options.where)}[${time}])`, options);

  return {
    rate: (name, options = {}) => counted('rate', '$__rate_interval', name, options),
    increase: (name, time, options = {}) => counted('increase', time, name, options),
    value: (name, options = {}) => merged(selector(find(name, 'gauge', options), '', options.where), options),
    quantile(share, name, options = {}) {
      const buckets = selector(find(name, 'histogram', options), '_bucket', options.where);
      const rates = merged(`rate(${buckets}[$__rate_interval])`, {
        by: ['le', ...(options.by ?? [])],
      });
      return `histogram_quantile(${share}, ${rates})`;
    },
    process(expression) {
      const ours = selector(find(anchor, 'gauge', {}), '');
      return `${expression} and on (job, instance) ${ours}`;
    },
    unused: () => metrics.filter(({ name }) => !used.has(name)),
  };
}
