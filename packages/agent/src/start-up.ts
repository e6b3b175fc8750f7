import { readFileSync } from 'node:fs';
import type { Fault } from './config/agent-config.ts';
import { loadConfig } from './config/load-config.ts';
import {
  DatabaseError,
  type AccountFinding,
  type Database,
  type VerificationFault,
} from './databases/database.ts';
import { openPostgres } from './databases/postgres/postgres.ts';
import { readCapabilities } from './databases/postgres/read-statement.ts';
import type { AgentConfig } from './config/agent-config.ts';
import type { VerifiedAgent } from './app.ts';

/** Step one of the start-up validation: the file itself. */
export type LintOutcome = { readonly config: AgentConfig } | { readonly faults: readonly Fault[] };

export function lintFile(path: string, env: Readonly<Record<string, string | undefined>>): LintOutcome {
  return loadConfig({ path, env, readFile: (name) => readFileSync(name) });
}

/** What of step three needs no database: each statement as it is written. */
export async function readStatements(config: AgentConfig): Promise<readonly VerificationFault[]> {
  return readCapabilities(config.capabilities);
}

export type DatabaseOutcome =
  | { readonly verified: VerifiedAgent }
  | { readonly faults: readonly VerificationFault[] };

/** Steps two and three: database ping, then EXPLAIN of every capability (specification, section 2.1). */
export async function verifyDatabase(config: AgentConfig): Promise<DatabaseOutcome> {
  const database = openPostgres(config.database);
  let outcome: DatabaseOutcome | undefined;
  try {
    await database.ping();
    const { queries, capabilities, faults } = await database.verify(config.capabilities);
    outcome =
      faults.length > 0
        ? { faults }
        : { verified: { config: { ...config, capabilities }, database, queries } };
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const advice = error.advice ?? 'it does not answer as it should';
    const message = `cannot use the database: ${advice} (the log file has the details)`;
    outcome = { faults: [{ path: 'database', message, detail: error.message }] };
  } finally {
    if (outcome === undefined || 'faults' in outcome) await database.close();
  }
  return outcome;
}

export interface AuditFinding extends AccountFinding {
  /** Database text, for the log file only. */
  readonly detail?: string;
}

/** What the account may do beyond reading; not being able to tell is a finding too. */
export async function auditAccount(database: Database): Promise<readonly AuditFinding[]> {
  try {
    return await database.auditAccount();
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const problem = 'the account could not be audited';
    const remedy = 'let it read the system catalog that the detail in the log file names';
    return [{ problem, remedy, detail: error.message }];
  }
}
