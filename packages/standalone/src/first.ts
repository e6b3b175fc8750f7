import { compileFunction, constants } from 'node:vm';
import { CHECKS } from '@svc/agent/checks';
import { spawnOwnFile } from '@svc/edge/own-file';

// The first code of the executable. To compile the rest takes as long as to start a process, so `svc stdio` has both done
// at once. The process of the checks reads its code from the file: this process cannot hand it on while it compiles.

/** All texts of this executable: the program itself, and what it starts beside itself. */
declare const SVC_TEXTS: object;
/** The code of the program, and of the process that checks. */
declare const SVC_MAIN: string;
declare const SVC_CHECKS: string;
declare const __SVC_VERSION__: string;

const [, , command, version] = process.argv;
// What a user starts has no channel.
const isChecks = command === CHECKS.command && process.send !== undefined;

if (!isChecks) run(SVC_MAIN, { SVC_TEXTS, SVC_STARTED_CHECKS: startChecks() });
// Somebody may have put another version in the place of the file since this one's parent was started.
else if (version === __SVC_VERSION__) run(SVC_CHECKS, {});

function startChecks(): ReturnType<typeof spawnOwnFile> {
  // The Node.js inside Electron runs no code that it is given.
  if (command !== 'stdio' || process.versions['electron'] !== undefined) return undefined;
  return spawnOwnFile(CHECKS, __filename, [__SVC_VERSION__], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    serialization: 'advanced',
  });
}

function run(code: string, texts: object): void {
  const given = { require, module, exports, __filename, __dirname, ...texts };
  compileFunction(code, Object.keys(given), {
    filename: __filename,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })(...Object.values(given));
}
