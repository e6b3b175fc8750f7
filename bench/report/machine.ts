import { cpus, release, totalmem } from 'node:os';
import { findProgram, runProcess } from '@svc/testkit';

export interface Machine {
  /** Of the run, as `2026-01-31`. */
  readonly date: string;
  readonly cores: number;
  readonly cpu: string;
  readonly memoryGigabytes: number;
  readonly kernel: string;
  readonly node: string;
  readonly postgres: string;
  readonly wrk: string;
}

/** What the figures of a run depend on; `node` and `postgres` are versions. */
export async function machine(node: string, postgres: string): Promise<Machine> {
  const all = cpus();
  const wrk = await runProcess(findProgram('wrk') ?? 'wrk', ['--version']);
  return {
    date: new Date().toISOString().slice(0, 10),
    cores: all.length,
    cpu: all[0]?.model.trim() ?? 'unknown',
    memoryGigabytes: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node,
    postgres,
    wrk: /wrk \S+/.exec(wrk.stdout + wrk.stderr)?.[0].slice(4) ?? 'unknown',
  };
}
