import { readFile } from 'node:fs/promises';

/** Linux counts in hundredths of a second here, whatever the kernel's own clock. */
const MICROSECONDS_PER_TICK = 10_000;

export interface Root {
  readonly pid: number;
}

/**
 * User and system time so far, in microseconds, of a process and of all that it has started: those that run, as the
 * sessions of a server, and those that have ended. Linux only.
 */
export async function treeMicroseconds({ pid }: Root): Promise<number> {
  const all = await Promise.all((await tree(pid)).map((each) => ticks(each).catch(() => [])));
  return all.flat().reduce((sum, value) => sum + value, 0) * MICROSECONDS_PER_TICK;
}

/** Resident memory of a process and of all its descendants, in units of 1,048,576 bytes. Linux only. */
export async function treeMegabytes({ pid }: Root): Promise<number> {
  const all = await Promise.all((await tree(pid)).map((each) => residentMegabytes(each).catch(() => 0)));
  return all.reduce((sum, value) => sum + value, 0);
}

/** Of the processes that a process started, those that still run. */
export async function childrenOf(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').map(Number).filter(Boolean);
}

async function tree(pid: number): Promise<readonly number[]> {
  const below = await Promise.all((await childrenOf(pid)).map(tree));
  return [pid, ...below.flat()];
}

/** Of the process, then of its children that have ended: user and system time. */
async function ticks(pid: number): Promise<readonly number[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number);
}

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024;
}
