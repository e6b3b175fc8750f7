import { readFile } from 'node:fs/promises';
import { cpus, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
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

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Of this service, e.g. `0.1.0 (67014a1)`; without the commit where there is no git. */
export async function version(): Promise<string> {
  const { version }: { version: string } = JSON.parse(await readFile(`${ROOT}/package.json`, 'utf8'));
  const commit = await git('rev-parse', '--short', 'HEAD');
  if (commit === '') return version;
  const changed = await git('status', '--porcelain', '--', 'packages', 'package-lock.json');
  return `${version} (${commit}${changed === '' ? '' : ', changed'})`;
}

async function git(...args: readonly string[]): Promise<string> {
  const { code, stdout } = await runProcess('git', ['-C', ROOT, ...args]).catch(() => ({
    code: 1,
    stdout: '',
  }));
  return code === 0 ? stdout.trim() : '';
}
