import { readdir, readFile } from 'node:fs/promises';
import { cpus } from 'node:os';

/** Linux counts in hundredths of a second here, whatever the kernel's own clock. */
const MICROSECONDS_PER_TICK = 10_000;

export interface Root {
  readonly pid: number;
}

/**
 * User and system time so far, in microseconds, of a process and of all that it has started: those that run, as the
 * sessions of a server, and those that have ended. Linux only.
 */
export async function treeMicroseconds({ pid }: Root): Promise<number> {
  return sum(await Promise.all((await tree(pid)).map((each) => processMicroseconds(each).catch(() => 0))));
}

/** That of a process, and of its children that have ended. */
export async function processMicroseconds(pid: number): Promise<number> {
  const [[user = 0, system = 0, ...ofChildren], threads] = await Promise.all([ticks(pid), threadsOf(pid)]);
  // The clocks of threads do not round to ticks, but those of threads that have ended are gone.
  const own = Math.max((user + system) * MICROSECONDS_PER_TICK, sum(threads));
  return own + sum(ofChildren) * MICROSECONDS_PER_TICK;
}

/** How long the machine has been idle so far, in microseconds of all its processors together. Linux only. */
export async function idleMicroseconds(): Promise<number> {
  const [, , , , idle, waiting] = (await readFile('/proc/stat', 'utf8')).split(/\s+/, 6).map(Number);
  return ((idle ?? 0) + (waiting ?? 0)) * MICROSECONDS_PER_TICK;
}

/** Of a span of so many milliseconds: what share of all processors was neither idle nor `known`, in microseconds. */
export function shareOfOthers(span: {
  readonly milliseconds: number;
  readonly idle: number;
  readonly known: number;
  readonly processors?: number;
}): number {
  const { milliseconds, idle, known, processors = cpus().length } = span;
  return 1 - (idle + known) / (milliseconds * 1000 * processors);
}

/**
 * Memory that a process and its descendants have for themselves, in units of 1,048,576 bytes: without the pages of their
 * files, and those that they share with the process that started them. NaN where this account may not look. Linux only.
 */
export async function privateMegabytes({ pid }: Root): Promise<number> {
  return sum(await Promise.all((await tree(pid)).map(privateMegabytesOf)));
}

async function privateMegabytesOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  const kilobytes = (field: string): number =>
    Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN);
  return Math.min(kilobytes('Anonymous'), kilobytes('Private_Dirty')) / 1024;
}

/** Memory that a process and its descendants have in use, files of theirs included, in units of 1,048,576 bytes. Linux only. */
export async function residentMegabytes({ pid }: Root): Promise<number> {
  return sum(await Promise.all((await tree(pid)).map(residentMegabytesOf)));
}

async function residentMegabytesOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+)/m.exec(text)?.[1] ?? 0) / 1024;
}

/** How many processes a process and its descendants are. Linux only. */
export async function countProcesses({ pid }: Root): Promise<number> {
  return (await tree(pid)).length;
}

/** How many times a process has called the kernel to write so far. Linux only. */
export async function writeCalls({ pid }: Root): Promise<number> {
  return Number(/^syscw: (\d+)/m.exec(await readFile(`/proc/${pid}/io`, 'utf8'))?.[1] ?? Number.NaN);
}

/** Of the processes that a process started, those that still run. */
export async function childrenOf(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').map(Number).filter(Boolean);
}

async function tree(pid: number): Promise<readonly number[]> {
  const below = await Promise.all((await childrenOf(pid)).map(tree));
  return [pid, ...below.flat()];
}

/** Of the process, then of its children that have ended: user and system time. */
async function ticks(pid: number): Promise<readonly number[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number);
}

/** Of each thread that runs, the time so far; none where the kernel does not tell. */
async function threadsOf(pid: number): Promise<readonly number[]> {
  const ids = await readdir(`/proc/${pid}/task`).catch(() => []);
  const texts = ids.map((id) => readFile(`/proc/${pid}/task/${id}/schedstat`, 'utf8').catch(() => '0'));
  return (await Promise.all(texts)).map((text) => Number(text.split(' ')[0]) / 1000);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
