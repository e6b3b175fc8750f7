import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram, runProcess, temporaryFolder } from '@svc/testkit';
import { wrkScript, type Target, type WrkSummary } from './wrk-script.ts';

export interface Load {
  /** Without a path and without a trailing slash. */
  readonly url: string;
  readonly path: string;
  readonly connections: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodies: readonly string[];
  /** Instead of the one path with its headers: others in turn, the first with the first body. */
  readonly targets?: readonly Target[];
  /** Which share of the answers may be failures, from 0 to 1; default 0. */
  readonly tolerated?: number;
}

export interface LoadResult {
  /** Those that succeeded. */
  readonly calls: number;
  readonly failed: number;
  /** Status and beginning of the first answer that was a failure; else empty. */
  readonly failure: string;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** What sending and receiving cost the load generator itself, per call. */
  readonly generatorMicroseconds: number;
}

const MISSING = 'cannot make load: wrk is not installed; install it (Debian: apt-get install wrk)';

/** Why no load can be made on this machine; undefined when it can. A benchmark ends with code 2 then. */
export function whyNoLoad(): string | undefined {
  return findProgram('wrk') === undefined ? MISSING : undefined;
}

/**
 * Posts for so many whole seconds, from one thread of `wrk`. Rejects when there is no wrk, or when any answer
 * is not a success: by its status, by an `error` or a true `isError` in its body, or by not coming within 10 s.
 * Failures of the first two kinds are only counted while they are no more than `tolerated`.
 */
export async function load(
  { url, path, connections, headers, bodies, targets = [{ path, headers }], tolerated = 0 }: Load,
  seconds: number,
): Promise<LoadResult> {
  const wrk = findProgram('wrk');
  if (wrk === undefined) throw new Error(MISSING);
  const folder = await temporaryFolder('load');
  try {
    const script = join(folder.path, 'load.lua');
    await writeFile(script, wrkScript({ targets, bodies }));
    const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, url];
    const { code, stdout, stderr } = await runProcess(wrk, args, { withinMs: (seconds + 30) * 1000 });
    const line = stdout.trimEnd().split('\n').at(-1) ?? '';
    if (code !== 0 || !line.startsWith('{')) {
      throw new Error(`cannot measure ${path}: wrk ended with ${code}\n${stdout}${stderr}`);
    }
    const summary: WrkSummary = JSON.parse(line);
    return judged(path, summary, tolerated);
  } finally {
    await folder.remove();
  }
}

function judged(path: string, summary: WrkSummary, tolerated: number): LoadResult {
  const { refused, firstRefused, non2xx, connect, read, write, timeout, requests } = summary;
  const failed = refused + non2xx;
  const calls = requests - failed;
  if (failed > tolerated * requests || connect + read + write + timeout > 0 || calls === 0) {
    const faults = JSON.stringify({ requests, refused, non2xx, connect, read, write, timeout });
    throw new Error(`cannot measure ${path}: not every answer was a success: ${faults}\n${firstRefused}`);
  }
  return {
    calls,
    failed,
    failure: firstRefused,
    seconds: summary.durationMicroseconds / 1e6,
    p50Ms: summary.p50Microseconds / 1000,
    p99Ms: summary.p99Microseconds / 1000,
    generatorMicroseconds: summary.cpuMicroseconds / calls,
  };
}
