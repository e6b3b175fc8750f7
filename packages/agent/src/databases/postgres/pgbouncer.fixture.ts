import { findPgBouncer, startPgBouncer, type PgBouncer } from '@svc/testkit';
import { inject } from 'vitest';
import type { Pooler } from './conformance.fixture.ts';

const program = findPgBouncer();

/** Whether PgBouncer is installed. */
export const isInstalled: boolean = program !== undefined;
/** Whether it finds a client's prepared statements on every server connection in transaction mode, as the agent needs. */
export const keepsPreparedStatements: boolean = program?.keepsPreparedStatements === true;

const remedy =
  'to run them: apt-get install -y --no-install-recommends pgbouncer (Debian 13 or later has 1.24)';
if (!isInstalled) process.stderr.write(`\nSKIPPED: tests that need PgBouncer; ${remedy}\n`);
else if (!keepsPreparedStatements) {
  process.stderr.write(
    `\nSKIPPED: tests that need PgBouncer 1.21 or later, since ${program?.version ?? ''} is installed; ${remedy}\n`,
  );
}

/** Server connections of one account to one database. */
export const SERVER_CONNECTIONS = 3;
export const SESSION_MODE = { pool_mode: 'session' } as const;
/** Without prepared statements: the default before 1.24, where it is not 0 by itself. */
export const PLAIN_TRANSACTION_MODE: Readonly<Record<string, string>> = {
  pool_mode: 'transaction',
  default_pool_size: String(SERVER_CONNECTIONS),
  ...(keepsPreparedStatements ? { max_prepared_statements: '0' } : {}),
};
export const TRANSACTION_MODE: Readonly<Record<string, string>> = {
  ...PLAIN_TRANSACTION_MODE,
  max_prepared_statements: '200',
};

/** Starts one in front of the run's PostgreSQL. */
export function pgBouncer(settings: Readonly<Record<string, string>>, port?: number): Promise<PgBouncer> {
  return startPgBouncer({ server: inject('postgres'), settings, ...(port === undefined ? {} : { port }) });
}

export function poolerOf(started: PgBouncer): Pooler {
  return {
    host: started.host,
    port: started.port,
    clients: async (name) => {
      const clients = await started.command<{ database: string }>('show clients');
      return clients.filter(({ database }) => database === name).length;
    },
  };
}
