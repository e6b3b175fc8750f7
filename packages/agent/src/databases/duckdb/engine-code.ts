import type { OwnCode } from '@svc/edge';

/** The code of the process that holds a database open, a text in this executable, so that one file is all there is to install. */
declare const SVC_DUCKDB: string;

export function engineCode(): OwnCode {
  return { command: 'internal-duckdb', text: SVC_DUCKDB };
}
