import { readdir, readFile } from 'node:fs/promises';
import type { RunningProcess } from '@svc/testkit';

export interface ProcessSize {
  /** Resident memory. */
  readonly megabytes: number;
  readonly descriptors: number;
  readonly threads: number;
}

/** What a process holds; nothing where there is no /proc to ask. */
export async function sizeOf({ pid }: RunningProcess): Promise<ProcessSize> {
  if (process.platform !== 'linux') return { megabytes: 0, descriptors: 0, threads: 0 };
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  const descriptors = (await readdir(`/proc/${pid}/fd`)).length;
  return { megabytes: field('VmRSS') / 1024, descriptors, threads: field('Threads') };
}
