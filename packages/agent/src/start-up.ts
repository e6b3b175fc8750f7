import { readFileSync } from 'node:fs';
import type { Fault } from './config/agent-config.ts';
import { loadConfig } from './config/load-config.ts';
import { DatabaseError, type VerificationFault } from './databases/database.ts';
import { openPostgres } from './databases/postgres/postgres.ts';
import type { AgentConfig } from './config/agent-config.ts';
import type { VerifiedAgent } from './app.ts';

/** Step one of the start-up validation: the file itself. */
export type LintOutcome = { readonly config: AgentConfig } | { readonly faults: readonly Fault[] };

export function lintFile(path: string, env: Readonly<Record<string, string | undefined>>): LintOutcome {
  return loadConfig({ path, env, readFile: (name) => readFileSync(name) });
}

export type DatabaseOutcome =
  | { readonly verified: VerifiedAgent }
  | { readonly faults: readonly VerificationFault[] };

/** Steps two and three: database ping, then EXPLAIN of every capability (specification, section 2.1). */
export async function verifyDatabase(config: AgentConfig): Promise<DatabaseOutcome> {
  const database = openPostgres(config.database);
  const faults = await check();
  if ('queries' in faults) return { verified: { config, database, queries: faults.queries } };
  await database.close();
  return faults;

  async function check(): Promise<Pick<VerifiedAgent, 'queries'> | { faults: readonly VerificationFault[] }> {
    try {
      await database.ping();
      const { queries, faults: found } = await database.verify(config.capabilities);
      return found.length > 0 ? { faults: found } : { queries };
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      const message =
        'cannot use the database: it does not answer or refuses the login; check host, port, name, user, password and sslmode';
      return { faults: [{ path: 'database', message, detail: error.message }] };
    }
  }
}
