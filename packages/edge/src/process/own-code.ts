import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { isSea } from 'node:sea';
import { compileFunction } from 'node:vm';
import { WITHOUT_DEBUGGER } from './ignore-signals.ts';
import { leaveRemovedFolder } from './working-folder.ts';

/** Code that this executable holds as a text and runs in another process. */
export interface OwnCode {
  /** The first argument that selects it in an executable that holds Node.js itself, which takes no code from outside. */
  readonly command: string;
  readonly text: string;
  /** Options of Node.js. */
  readonly flags?: readonly string[];
}

/** The script name of a program that Node.js reads from standard input. */
const FROM_STDIN = '-';

/**
 * The file of this executable, symbolic links resolved; the same in the processes that it starts for its own code. As it was
 * at the start: an upgrade may take the file away while this process runs.
 */
const ownPath = findOwnPath();

export function executablePath(): string {
  return ownPath;
}

function findOwnPath(): string {
  const [, script = '', given = ''] = process.argv;
  if (isSea()) return process.execPath;
  if (script === FROM_STDIN) return given;
  try {
    return realpathSync(script);
  } catch {
    return script;
  }
}

/**
 * Starts a process that runs the code. Its standard input must be a pipe. Where the system has no process or file to
 * spare, what is returned has no pid and may lack its pipes, and says so by its 'error' and its 'close'.
 */
export function spawnOwnCode({ command, text, flags = [] }: OwnCode, options: SpawnOptions): ChildProcess {
  const inherited = process.execArgv.filter((flag) => !flag.startsWith('--inspect'));
  const args = isSea()
    ? [command]
    : [...inherited, ...WITHOUT_DEBUGGER, ...flags, '--input-type=commonjs', FROM_STDIN, executablePath()];
  leaveRemovedFolder();
  const child = spawn(process.execPath, args, options);
  // Without a listener a process that could not be started would end this one.
  child.on('error', () => {});
  // It ended before it had read all of its code: its 'close' gives the reason.
  child.stdin?.on('error', () => {});
  child.stdin?.end(isSea() ? undefined : text);
  return child;
}

/** In the started process of an executable that holds Node.js itself: runs the code that was selected. False if none was. */
export function runOwnCode(codes: () => readonly OwnCode[]): boolean {
  const asked = isSea() ? codes().find(({ command }) => command === process.argv[2]) : undefined;
  if (asked === undefined) return false;
  const { execPath } = process;
  // As Node.js has them for code from standard input, though of this executable.
  const given = { require: createRequire(execPath), __filename: execPath, __dirname: dirname(execPath) };
  compileFunction(asked.text, Object.keys(given))(...Object.values(given));
  return true;
}
