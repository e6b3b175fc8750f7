import { inject } from 'vitest';
import type { MysqlAddress } from '@svc/testkit';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The servers that the run's global set-up has started. */
    mysql: readonly MysqlAddress[];
  }
}

/** Those that the tests of this driver are to run on. */
export function mysqlServers(): readonly MysqlAddress[] {
  return inject('mysql');
}
