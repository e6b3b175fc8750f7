import { existsSync } from 'node:fs';
import type { Fault } from '../../../capabilities/fault.ts';

/** What whoever serves a file has to know at each start. */
export function fileWarnings(): readonly Fault[] {
  const weaker =
    'SQLite has no accounts: whoever may write the file may change what callers get, so give it to another user than the agent runs as';
  const unwatched =
    'on this system nobody watches how much memory a query takes: its process ends with its time alone';
  return [weaker, ...(existsSync('/proc/self/statm') ? [] : [unwatched])].map((message) => ({
    path: 'database',
    message,
  }));
}
