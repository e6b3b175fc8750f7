import { spawnSync } from 'node:child_process';

/** Why a package cannot be made on this machine. Anything else that is thrown is a fault, and ends the run. */
export class NotMade extends Error {}

/** Throws `NotMade` where one of the programs is missing. */
export function need(...programs) {
  const missing = programs.filter((program) => spawnSync('which', [program]).status !== 0);
  if (missing.length > 0) throw new NotMade(`needs ${missing.join(', ')}`);
}

/** Runs a program to its end; returns what it wrote to standard output. What goes wrong is thrown as `Failure`. */
export function run(program, args, { Failure = Error, ...options } = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    ...options,
  });
  if (status === 0) return stdout;
  const said = (stderr || stdout || error?.message || '').trim().split('\n').at(-1);
  throw new Failure(`${program} ${args[0]} failed: ${said}`);
}
