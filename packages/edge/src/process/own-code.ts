import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { isSea } from 'node:sea';
import { compileFunction } from 'node:vm';

/** Code that this executable holds as a text, for a process of its own. */
export interface OwnCode {
  /** As it is asked for in an executable that holds Node.js itself, which takes no code from outside. */
  readonly command: string;
  readonly text: string;
  /** What only Node.js itself can be told. */
  readonly flags?: readonly string[];
}

/** Where Node.js has the name of a program that it reads from standard input. */
const FROM_STDIN = '-';

/** The file of this executable, symbolic links resolved; the same in the processes that it starts for its own code. */
export function executablePath(): string {
  const [, script = '', given = ''] = process.argv;
  if (isSea()) return process.execPath;
  return script === FROM_STDIN ? given : realpathSync(script);
}

/** Starts a process that runs the code. Its standard input must be a pipe. */
export function spawnOwnCode({ command, text, flags = [] }: OwnCode, options: SpawnOptions): ChildProcess {
  const inherited = process.execArgv.filter((flag) => !flag.startsWith('--inspect'));
  const args = isSea()
    ? [command]
    : [...inherited, ...flags, '--input-type=commonjs', FROM_STDIN, executablePath()];
  const child = spawn(process.execPath, args, options);
  // It ended before it had read all of its code: its 'close' gives the reason.
  child.stdin?.on('error', () => {});
  child.stdin?.end(isSea() ? undefined : text);
  return child;
}

/** The other side, in an executable that holds Node.js itself: runs the code that was asked for. False where none was. */
export function runOwnCode(codes: () => readonly OwnCode[]): boolean {
  const asked = isSea() ? codes().find(({ command }) => command === process.argv[2]) : undefined;
  if (asked === undefined) return false;
  const { execPath } = process;
  // As Node.js has them for code from standard input, though of this executable.
  const given = { require: createRequire(execPath), __filename: execPath, __dirname: dirname(execPath) };
  compileFunction(asked.text, Object.keys(given))(...Object.values(given));
  return true;
}
