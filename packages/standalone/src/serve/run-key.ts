import { randomBytes } from 'node:crypto';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { readProblem } from '@svc/edge';
import { createKey, type Environment } from '@svc/gateway';
import { LOCAL_NAME } from '../stdio/caller.ts';

export type RunKey =
  | {
      readonly env: Environment;
      /** To be shown on standard error; undefined if it is in the file. */
      readonly shown: string | undefined;
      /** Removes the file, for a start that fails: the next one may name it again. */
      discard(): void;
    }
  | { readonly problem: string };

const NEW_FILE_MODE = 0o600;

/**
 * Makes an API key for this run, which may call everything. It is written to the file, which must not exist, or else shown
 * on a terminal.
 */
export function makeRunKey(env: Environment, file: string | undefined, isTerminal: boolean): RunKey {
  if (file === undefined && !isTerminal) {
    return {
      problem:
        'nobody may call: set GATEWAY_API_KEYS_FILE, or let `--key-file FILE` get a key for this run; a terminal shows one',
    };
  }
  const { apiKey, record } = createKey({ name: LOCAL_NAME, capabilities: ['*'], randomBytes });
  if (file !== undefined) {
    try {
      const descriptor = openSync(file, 'wx', NEW_FILE_MODE);
      writeSync(descriptor, `${apiKey}\n`);
      closeSync(descriptor);
    } catch (error) {
      const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
      const why = exists ? 'it exists already; remove it, or name another file' : readProblem(error);
      return { problem: `--key-file: cannot make ${file}: ${why}` };
    }
  }
  return {
    env: { ...env, GATEWAY_API_KEYS_JSON: JSON.stringify([record]) },
    shown: file === undefined ? apiKey : undefined,
    discard() {
      if (file !== undefined) rmSync(file, { force: true });
    },
  };
}
