import type { RunningProcess } from '@svc/testkit';

const program = `
import { writeSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
let count = 0;
process.on('SIGUSR2', () => {
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  const timers = process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length;
  writeSync(2, 'heap ' + ++count + ' ' + (heapUsed + external) + ' ' + timers + '\\n');
});
`;

/** As NODE_OPTIONS: the process then collects its garbage at SIGUSR2 and says what is left. */
export const heapReporter: string = `--import=data:text/javascript,${encodeURIComponent(program)}`;

const asked = new WeakMap<RunningProcess, number>();

export interface Heap {
  /** Live memory that JavaScript holds, buffers included. */
  readonly bytes: number;
  /** That are set, without those that do not keep a process from ending. */
  readonly timers: number;
}

export async function heapOf(process: RunningProcess): Promise<Heap> {
  const turn = (asked.get(process) ?? 0) + 1;
  asked.set(process, turn);
  process.signal('SIGUSR2');
  const line = await process.waitForLine((text) => text.startsWith(`heap ${turn} `));
  const [, , bytes, timers] = line.split(' ');
  return { bytes: Number(bytes), timers: Number(timers) };
}
