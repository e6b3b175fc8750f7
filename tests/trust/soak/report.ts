import type { Sample } from './figures.ts';
import { slope } from './figures.ts';
import type { MixedLoad } from './load.ts';

export interface SoakResult {
  readonly seed: number;
  readonly seconds: number;
  readonly load: MixedLoad;
  readonly faults: ReadonlyMap<string, number>;
  readonly samples: Readonly<Record<string, readonly Sample[]>>;
  readonly violations: readonly string[];
  /** What no call may take longer than. */
  readonly latestMs: number;
}

/** Growth in an hour that is more than chance. */
const HEAP_BYTES_PER_HOUR = 4 * 1024 * 1024;
const DESCRIPTORS_PER_HOUR = 3;
const MB = 1024 * 1024;
const HOUR_MS = 3_600_000;

interface Slopes {
  readonly heapBytesPerHour: number;
  readonly rssBytesPerHour: number;
  readonly descriptorsPerHour: number;
  readonly threadsPerHour: number;
}

/** Without the first fifth, in which caches fill and code is compiled. */
function slopesOf(samples: readonly Sample[]): Slopes {
  const steady = samples.slice(Math.ceil(samples.length / 5));
  const of = (field: Exclude<keyof Sample, 'atMs'>): number =>
    slope(steady.map((sample) => [sample.atMs / HOUR_MS, sample[field]]));
  return {
    heapBytesPerHour: of('heapBytes'),
    rssBytesPerHour: of('rssBytes'),
    descriptorsPerHour: of('descriptors'),
    threadsPerHour: of('threads'),
  };
}

export function isFlat(samples: readonly Sample[]): boolean {
  const { heapBytesPerHour, descriptorsPerHour } = slopesOf(samples);
  return heapBytesPerHour <= HEAP_BYTES_PER_HOUR && descriptorsPerHour <= DESCRIPTORS_PER_HOUR;
}

/** To standard output. */
export function report(result: SoakResult, json: boolean): void {
  const { seed, seconds, load, faults, samples, violations, latestMs } = result;
  const slopes = Object.fromEntries(Object.entries(samples).map(([name, each]) => [name, slopesOf(each)]));
  if (json) {
    const { calls, outcomes, byKind } = load;
    const counts = { calls, outcomes: fromMap(outcomes), kinds: fromMap(byKind), faults: fromMap(faults) };
    process.stdout.write(`${JSON.stringify({ seed, seconds, ...counts, samples, slopes, violations })}\n`);
    return;
  }
  const lines = [
    `${load.calls} calls in ${(seconds / 60).toFixed(1)} min, seed ${seed}; none took longer than ${latestMs} ms unless said below`,
    '',
    ...counted('calls by kind', load.byKind),
    ...counted('calls by outcome', load.outcomes),
    ...counted('faults', faults),
    'process     heap MB  first last  slope/h   RSS MB  first last  slope/h   descriptors  first last  slope/h',
    ...Object.entries(samples).map(([name, each]) => processLine(name, each)),
    '',
    violations.length === 0 ? 'nothing was wrong' : `${violations.length} wrong:`,
    ...violations.map((violation) => `  ${violation}`),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function processLine(name: string, samples: readonly Sample[]): string {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) return `${name}  no samples`;
  const { heapBytesPerHour, rssBytesPerHour, descriptorsPerHour } = slopesOf(samples);
  const mb = (bytes: number): string => (bytes / MB).toFixed(1);
  const heap = `${mb(first.heapBytes)} ${mb(last.heapBytes)}  ${mb(heapBytesPerHour)}`;
  const rss = `${mb(first.rssBytes)} ${mb(last.rssBytes)}  ${mb(rssBytesPerHour)}`;
  const descriptors = `${first.descriptors} ${last.descriptors}  ${descriptorsPerHour.toFixed(1)}`;
  return `${name.padEnd(12)}${heap.padStart(24)}${rss.padStart(28)}${descriptors.padStart(28)}`;
}

function counted(title: string, counts: ReadonlyMap<string, number>): readonly string[] {
  const sorted = [...counts].toSorted(([, a], [, b]) => b - a);
  return [title, ...sorted.map(([name, count]) => `${String(count).padStart(9)}  ${name}`), ''];
}

function fromMap(map: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  return Object.fromEntries(map);
}
