import { execFile } from 'node:child_process';
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

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Resolves when none of these processes is left. */
export async function allGone(pids: readonly number[], withinMs: number): Promise<void> {
  await expect.poll(() => pids.filter(isAlive), { interval: 20, timeout: withinMs }).toEqual([]);
}
