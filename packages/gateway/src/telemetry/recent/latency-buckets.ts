/** Two for each doubling, from an eighth of a millisecond to a minute. */
export const LATENCY_BUCKETS = 40;

const FIRST_OCTAVE = 7;
const LONGEST_MS = 60_000;

export function latencyBucket(ms: number): number {
  const us = Math.min(ms, LONGEST_MS) * 1000;
  const octave = 31 - Math.clz32(us);
  if (octave < FIRST_OCTAVE) return 0;
  return 1 + (octave - FIRST_OCTAVE) * 2 + ((us >> (octave - 1)) & 1);
}

/** The 95th percentile of the counts from `begin` on; null without counts. */
export function p95Ms(counts: Uint32Array, begin = 0): number | null {
  const end = begin + LATENCY_BUCKETS;
  let total = 0;
  for (let at = begin; at < end; at++) total += counts[at] ?? 0;
  if (total === 0) return null;
  let rank = total * 0.95;
  for (let at = begin; at < end; at++) {
    const count = counts[at] ?? 0;
    if (count > 0 && rank <= count) {
      const least = leastMs(at - begin);
      const most = leastMs(at - begin + 1);
      return Math.round((least + ((most - least) * rank) / count) * 100) / 100;
    }
    rank -= count;
  }
  return leastMs(LATENCY_BUCKETS);
}

function leastMs(bucket: number): number {
  if (bucket === 0) return 0;
  const octave = FIRST_OCTAVE + ((bucket - 1) >> 1);
  return (2 ** octave * (1 + ((bucket - 1) & 1) / 2)) / 1000;
}
