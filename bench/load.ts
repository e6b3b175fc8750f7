import autocannon from 'autocannon';

export interface Load {
  readonly url: string;
  readonly path: string;
  readonly connections: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Asked for anew for each of a few thousand bodies, which are then sent in turn. */
  readonly body: () => string;
}

export interface LoadResult {
  readonly calls: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const BODIES = 2000;

/** Posts for so many seconds; rejects when any answer is not a success. */
export async function load(
  { url, path, connections, headers, body }: Load,
  seconds: number,
): Promise<LoadResult> {
  const bodies = Array.from({ length: BODIES }, body);
  let turn = 0;
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    requests: [
      {
        method: 'POST',
        path,
        headers: { ...headers },
        setupRequest: (request) => ({ ...request, body: bodies[turn++ % BODIES] ?? '' }),
      },
    ],
    verifyBody: (text) =>
      typeof text === 'string' && !text.includes('"error":') && !text.includes('"isError":'),
  });
  const { mismatches, errors, timeouts, non2xx } = result;
  if (mismatches + errors + timeouts + non2xx > 0) {
    throw new Error(`cannot measure ${path}: ${JSON.stringify({ mismatches, errors, timeouts, non2xx })}`);
  }
  return {
    calls: result.requests.total,
    seconds: result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [below, above] = [
    sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN,
    sorted[middle] ?? Number.NaN,
  ];
  return (below + above) / 2;
}
