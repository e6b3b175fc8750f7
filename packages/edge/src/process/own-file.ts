import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { WITHOUT_DEBUGGER } from './ignore-signals.ts';
import { leaveRemovedFolder } from './working-folder.ts';

/** Code that the file of this program runs in another process. */
export interface FileCode {
  /** The first argument that selects it. */
  readonly command: string;
  /** Options of Node.js. */
  readonly flags: readonly string[];
}

/** Starts another process of this program's file. Undefined where the system has no process to spare. */
export function spawnOwnFile(
  { command, flags }: FileCode,
  file: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess | undefined {
  const inherited = process.execArgv.filter((flag) => !flag.startsWith('--inspect'));
  leaveRemovedFolder();
  const started = [...inherited, ...WITHOUT_DEBUGGER, ...flags, file, command, ...args];
  const child = spawn(process.execPath, started, options);
  // Without a listener a process that could not be started would end this one.
  child.on('error', () => {});
  return child.pid === undefined ? undefined : child;
}
