import { chmodSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Account, TestServer } from '../conformance/dialect.testing.ts';

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
async function computing(file: string, isComputing: (pid: number) => boolean): Promise<number> {
  let pids = holdersOf(file).filter(isComputing);
  for (let look = 1; look < LOOKS; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_LOOKS_MS));
    pids = pids.filter(isComputing);
  }
  return pids.length;
}

async function endHolders(file: string): Promise<void> {
  const ended = holdersOf(file);
  for (const pid of ended) process.kill(pid, 'SIGKILL');
  while (ended.some((pid) => isHolder(pid, file))) await new Promise((resolve) => setImmediate(resolve));
}

/** A database file of its own for the conformance suite; `fill` makes it. */
export async function fileServer(
  driver: string,
  fill: (file: string) => Promise<void> | void,
  isComputing: (pid: number) => boolean,
  busySessions: (file: string) => Promise<number> = (file) => computing(file, isComputing),
): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), `${driver}-test-`));
  const file = join(folder, `library.${driver}`);
  const away = join(folder, `away.${driver}`);
  await fill(file);
  chmodSync(file, 0o444);
  const accountOf = (changes: object): Account => ({
    section: { driver, file, caller_variables: true, ...changes } as Account['section'],
    texts: {},
  });
  return {
    // As root, everything may be written that is not immutable.
    reader: accountOf(process.getuid?.() === 0 ? { immutable: true } : {}),
    writer: accountOf({}),
    sessions: async () => holdersOf(file).length,
    busySessions: () => busySessions(file),
    slowSessions: () => computing(file, isComputing),
    endSessions: () => endHolders(file),
    goAway: async () => {
      renameSync(file, away);
      await endHolders(away);
    },
    comeBack: async () => renameSync(away, file),
    stop: async () => rmSync(folder, { recursive: true }),
  };
}
