import type { OwnCode } from '@svc/edge';

/** The code of the process that holds a database open, a text in this executable, so that one file is all there is to install. */
declare const SVC_SQLITE: string;

export function engineCode(): OwnCode {
  // node:sqlite says at each start that it is experimental.
  return { command: 'internal-sqlite', text: SVC_SQLITE, flags: ['--no-warnings'] };
}
