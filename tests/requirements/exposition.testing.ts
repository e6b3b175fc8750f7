/** What a scrape says, by the name of the metric. */
export type Scrape = ReadonlyMap<string, Family>;

export interface Family {
  readonly type: string;
  readonly help: string;
  /** By the sample as written, without its value: `name{label="value"}`. */
  readonly samples: ReadonlyMap<string, number>;
}

const COMMENT = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/;
const SAMPLE =
  /^(([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{([a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"(?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*")*)\})?) (\S+)$/;
const NUMBER = /^[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)$|^NaN$/i;
const TYPES = new Set(['counter', 'gauge', 'histogram', 'untyped']);
const OF_HISTOGRAMS = ['_bucket', '_sum', '_count'];

/** Reads the text format of Prometheus, version 0.0.4; throws for whatever a scraper might stumble over. */
export function parseExposition(text: string): Scrape {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const families = new Map<string, { type: string; help: string; samples: Map<string, number> }>();
  let current = { name: '', type: '', help: '', samples: new Map<string, number>() };
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, keyword, described = '', said = ''] = COMMENT.exec(line) ?? [];
    if (keyword === 'HELP') {
      if (families.has(described)) throw new Error(`${described} comes twice`);
      current = { name: described, type: '', help: said, samples: new Map() };
      families.set(described, current);
    } else if (keyword === 'TYPE') {
      if (described !== current.name || current.type !== '' || !TYPES.has(said)) throw wrong(line);
      current.type = said;
    } else {
      addSample(current, line);
    }
  }
  for (const [name, family] of families) if (family.type === 'histogram') checkHistogram(name, family);
  return families;
}

function addSample(family: { name: string; type: string; samples: Map<string, number> }, line: string): void {
  const [, id = '', name = '', , value = ''] = SAMPLE.exec(line) ?? [];
  const names =
    family.type === 'histogram' ? OF_HISTOGRAMS.map((suffix) => family.name + suffix) : [family.name];
  if (family.type === '' || !names.includes(name) || !NUMBER.test(value)) throw wrong(line);
  if (family.samples.has(id)) throw new Error(`a sample comes twice: ${id}`);
  family.samples.set(id, Number(value.replace('Inf', 'Infinity')));
}

/** Cumulative buckets with growing bounds, the last of them +Inf and equal to the count. */
function checkHistogram(name: string, { samples }: Family): void {
  let last: { labels: string; bound: number; count: number } | undefined;
  for (const [id, count] of samples) {
    const [, labels = '', le = ''] = /_bucket\{(?:(.*),)?le="([^"]+)"\}$/.exec(id) ?? [];
    if (le === '') continue;
    const bound = Number(le.replace('Inf', 'Infinity'));
    const first = last?.labels !== labels || last.bound === Number.POSITIVE_INFINITY;
    if (!first && (bound <= (last?.bound ?? 0) || count < (last?.count ?? 0))) throw wrong(id);
    last = { labels, bound, count };
    const total = samples.get(labels === '' ? `${name}_count` : `${name}_count{${labels}}`);
    if (bound === Number.POSITIVE_INFINITY && total !== count) throw wrong(id);
  }
}

function wrong(line: string): Error {
  return new Error(`a scraper would not understand: ${line}`);
}
