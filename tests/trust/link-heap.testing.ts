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
  writeSync(2, 'heap ' + ++count + ' ' + (heapUsed + external) + '\\n');
});
`;

/** As NODE_OPTIONS: the process then collects its garbage at SIGUSR2 and says how much is left. */
export const heapReporter: string = `--import=data:text/javascript,${encodeURIComponent(program)}`;

const asked = new WeakMap<RunningProcess, number>();

/** Bytes of live memory that JavaScript holds, buffers included. */
export async function heapOf(process: RunningProcess): Promise<number> {
  const turn = (asked.get(process) ?? 0) + 1;
  asked.set(process, turn);
  process.signal('SIGUSR2');
  const line = await process.waitForLine((text) => text.startsWith(`heap ${turn} `));
  return Number(line.split(' ')[2]);
}
