import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const TICKS = 2;
const LOOK_MS = 40;

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

/** What the system tells of a process, from its state on. */
function statOf(pid: number | string): readonly string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** How much of a processor it has had, in ticks of 10 ms. */
function ticksOf(pid: number): number {
  try {
    const stat = statOf(pid);
    return Number(stat[11]) + Number(stat[12]);
  } catch {
    return 0;
  }
}

/** Those that have been computing all the time since they were looked at. */
export async function computing(file: string): Promise<number> {
  const before = holdersOf(file).map((pid) => [pid, ticksOf(pid)] as const);
  await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  return before.filter(([pid, ticks]) => ticksOf(pid) - ticks >= TICKS).length;
}

export async function endHolders(file: string): Promise<void> {
  const ended = holdersOf(file);
  for (const pid of ended) process.kill(pid, 'SIGKILL');
  while (ended.some((pid) => isHolder(pid, file))) await new Promise((resolve) => setImmediate(resolve));
}
