import { readFile } from 'node:fs/promises';

/** Linux counts in hundredths of a second here, whatever the kernel's own clock. */
const MICROSECONDS_PER_TICK = 10_000;

/**
 * User and system time of a PostgreSQL server so far, in microseconds: of its first process, of those that
 * serve connections, and of those that have ended. Linux only.
 */
export async function databaseMicroseconds({ pid }: { readonly pid: number }): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  const own = await Promise.all(
    children
      .trim()
      .split(' ')
      .map((child) => ticks(child).catch(() => [])),
  );
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = await ticks(String(pid));
  const living = own.reduce((sum, [user = 0, system = 0]) => sum + user + system, 0);
  return (living + user + system + endedUser + endedSystem) * MICROSECONDS_PER_TICK;
}

/** Of the process, then of its children that have ended: user and system time. */
async function ticks(pid: string): Promise<readonly number[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number);
}
