import { readFileSync } from 'node:fs';

/** In this time an engine can exceed its limit by some tens of megabytes. */
const LOOK_MS = 20;
const RESIDENT = /^VmRSS:\s*(\d+) kB$/m;

export interface MemoryWatch {
  /** Whether the process has something to do. An idle process is not watched. */
  busy: boolean;
  stop(): void;
}

/** Watches the resident memory of a process. Does nothing on a system without /proc. */
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

  // Letting the timer run out costs less than setting and clearing one for each question.
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

/** Zero if unknown. */
function residentBytes(pid: number | undefined): number {
  try {
    // statm counts pages, whose size differs between machines.
    return Number(RESIDENT.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
