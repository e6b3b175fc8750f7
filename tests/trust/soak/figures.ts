import { sizeOf } from '@svc/testkit';

/** One process at one moment. */
export interface Sample {
  readonly atMs: number;
  readonly heapBytes: number;
  readonly rssBytes: number;
  readonly descriptors: number;
  readonly threads: number;
}

/** From outside: /proc, and the heap by the process's own metrics, least of a few readings between collections. */
export async function sampleProcess(pid: number, metricsPort: number, atMs: number): Promise<Sample> {
  const { megabytes, ...rest } = await sizeOf({ pid });
  return { atMs, heapBytes: await heapOf(metricsPort), rssBytes: megabytes * 1024 * 1024, ...rest };
}

const READINGS = 5;
const BETWEEN_MS = 300;

async function heapOf(port: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let reading = 0; reading < READINGS; reading++) {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const heap = Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1]);
    least = Math.min(least, heap);
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
  }
  return least;
}

/** Of the line through the points that lies nearest to them, in units of y for each unit of x; 0 for fewer than two. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, each) => sum + each, 0) / values.length;
  const [middleX, middleY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const spread = points.reduce((sum, [x]) => sum + (x - middleX) ** 2, 0);
  if (points.length < 2 || spread === 0) return 0;
  return points.reduce((sum, [x, y]) => sum + (x - middleX) * (y - middleY), 0) / spread;
}
