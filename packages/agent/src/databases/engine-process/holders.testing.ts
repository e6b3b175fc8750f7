import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const LOOKS = 10;
const BETWEEN_LOOKS_MS = 10;

/** Other processes that have the file open. */
export function holdersOf(file: string): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids.filter((pid) => isHolder(pid, file)).map(Number);
}

function isHolder(pid: number | string, file: string): boolean {
  try {
    const descriptors = readdirSync(`/proc/${pid}/fd`);
    return descriptors.some((each) => readlinkSync(`/proc/${pid}/fd/${each}`) === file);
  } catch {
    // It has ended meanwhile.
    return false;
  }
}

/** Of a thread: R where it computes or would, and S where it sleeps. */
function stateOf(pid: number, thread: number | string): string {
  const text = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1');
  return text.charAt(text.lastIndexOf(')') + 2);
}

/** Whether its main thread computes. */
export function isRunning(pid: number): boolean {
  try {
    return stateOf(pid, pid) === 'R';
  } catch {
    return false;
  }
}

/** Whether its engine computes in threads of its own, while the main thread, which loads and prepares, waits for them. */
export function hasRunningThreads(pid: number): boolean {
  try {
    const others = readdirSync(`/proc/${pid}/task`).filter((thread) => Number(thread) !== pid);
    return stateOf(pid, pid) === 'S' && others.some((thread) => stateOf(pid, thread) === 'R');
  } catch {
    return false;
  }
}

/** Those that compute at each of several looks: to open a file takes less, and one that is asked nothing sleeps. */
export async function computing(file: string, isComputing: (pid: number) => boolean): Promise<number> {
  let pids = holdersOf(file).filter(isComputing);
  for (let look = 1; look < LOOKS; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_LOOKS_MS));
    pids = pids.filter(isComputing);
  }
  return pids.length;
}

export async function endHolders(file: string): Promise<void> {
  const ended = holdersOf(file);
  for (const pid of ended) process.kill(pid, 'SIGKILL');
  while (ended.some((pid) => isHolder(pid, file))) await new Promise((resolve) => setImmediate(resolve));
}
