import { readFileSync } from 'node:fs';

/** How often it is looked at: an engine that is given 20 ms can take some tens of megabytes more than it may. */
const LOOK_MS = 20;
const RESIDENT = /^VmRSS:\s*(\d+) kB$/m;

export interface MemoryWatch {
  /** Whether it has something to do: while it has not, nobody looks. */
  busy: boolean;
  stop(): void;
}

/** Watches how much of its memory a process has resident; a system without /proc does not tell, and nothing is called. */
export function createMemoryWatch(
  pid: number | undefined,
  mostBytes: number,
  onExceeded: () => void,
): MemoryWatch {
  let isBusy = false;
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    timer = undefined;
    if (!isBusy) return;
    if (residentBytes(pid) > mostBytes) onExceeded();
    else schedule();
  }

  // A timer that runs out when there is nothing to do costs less than one that each question sets and clears.
  function schedule(): void {
    timer ??= setTimeout(look, LOOK_MS);
  }

  return {
    get busy() {
      return isBusy;
    },
    set busy(value) {
      isBusy = value;
      if (isBusy) schedule();
    },
    stop() {
      isBusy = false;
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

/** Zero where it cannot be told. */
function residentBytes(pid: number | undefined): number {
  try {
    // Not from statm, which counts pages: their size differs between machines.
    return Number(RESIDENT.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
