import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect } from 'vitest';

/** The processes that this one has started. */
export async function childrenOf(pid: number): Promise<readonly number[]> {
  // It exits with 1 where there are none.
  const found = await promisify(execFile)('pgrep', ['-P', String(pid)]).catch(() => ({ stdout: '' }));
  return found.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map(Number);
}

/** All that it has started, and what these have. */
export async function descendantsOf(pid: number): Promise<readonly number[]> {
  const children = await childrenOf(pid);
  return [...children, ...(await Promise.all(children.map(descendantsOf))).flat()];
}

/** One that has ended and that nobody has asked for its end yet is not. */
function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

/** Resolves when none of these processes is left. */
export async function allGone(pids: readonly number[], withinMs: number): Promise<void> {
  await expect.poll(() => pids.filter(isAlive), { interval: 20, timeout: withinMs }).toEqual([]);
}
