import { execFileSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';

export interface ProcessSize {
  /** Resident memory, in units of 1,048,576 bytes. */
  readonly megabytes: number;
  readonly descriptors: number;
  readonly threads: number;
}

/** What a process holds; nothing where there is no /proc to ask. */
export async function sizeOf({ pid }: { readonly pid: number }): Promise<ProcessSize> {
  if (process.platform !== 'linux') return { megabytes: 0, descriptors: 0, threads: 0 };
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  const descriptors = (await readdir(`/proc/${pid}/fd`)).length;
  return { megabytes: field('VmRSS') / 1024, descriptors, threads: field('Threads') };
}

/** User and system time of all its threads so far, in microseconds. Linux only. */
export async function cpuMicroseconds({ pid }: { readonly pid: number }): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name, in parentheses, may hold blanks; utime and stime are the 14th and 15th field.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  ticksPerSecond ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / ticksPerSecond;
}

let ticksPerSecond: number | undefined;
