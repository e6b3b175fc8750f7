import { readFileSync } from 'node:fs';

const LOOK_MS = 1000;
/** What stands between a client and the command that it starts, and may outlive the client. */
const LAUNCHER = /^(?:sh|dash|bash|zsh|ksh|ash|fish|busybox|npm .*|npx .*|npm|npx)$/;
const LAUNCHERS_MAX = 4;

/**
 * Calls `onGone` once, when the process that started this one is gone: its end of the pipe may stay open in another
 * process. Looks through shells and npm, which go on when the client that started them is gone. Windows keeps the number
 * of a parent that has ended. The returned function ends the watch.
 */
export function watchParent(onGone: () => void): () => void {
  const parent = process.ppid;
  const launched = process.platform === 'linux' ? launchersOf(parent) : [];
  const isGone = (): boolean => {
    if (process.platform === 'win32') return !isRunning(parent);
    return process.ppid !== parent || launched.some(({ pid, parent: ofIt }) => parentOf(pid) !== ofIt);
  };
  const timer = setInterval(() => {
    if (!isGone()) return;
    clearInterval(timer);
    onGone();
  }, LOOK_MS);
  return () => clearInterval(timer);
}

interface Launcher {
  readonly pid: number;
  readonly parent: number;
}

function launchersOf(pid: number): readonly Launcher[] {
  const found: Launcher[] = [];
  for (let at = pid; at > 1 && found.length < LAUNCHERS_MAX && LAUNCHER.test(nameOf(at));) {
    const parent = parentOf(at);
    if (parent === undefined || parent <= 1) break;
    found.push({ pid: at, parent });
    at = parent;
  }
  return found;
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}

/** Undefined if the process is gone. */
function parentOf(pid: number): number | undefined {
  try {
    // The name before it may hold anything, brackets too.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ');
    return Number(fields[1]);
  } catch {
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
