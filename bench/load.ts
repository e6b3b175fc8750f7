import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
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

/** User and system time that these processes have used so far, in microseconds, from /proc. */
export function cpuMicroseconds(pids: readonly number[]): number {
  const ticks = pids.map((pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in parentheses, may hold blanks; utime and stime are the 14th and 15th field.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((sum, each) => sum + each, 0) * (1e6 / TICKS_PER_SECOND);
}

const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [below, above] = [
    sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN,
    sorted[middle] ?? Number.NaN,
  ];
  return (below + above) / 2;
}
