import { readFileSync } from 'node:fs';

/**
 * How many files and sockets this process may have open (`ulimit -n`), as far as Linux says. Node.js raises its soft limit
 * to the hard one when it starts.
 */
export function openFileLimit(): number {
  try {
    const [, limit] = /^Max open files +(\d+) /m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
