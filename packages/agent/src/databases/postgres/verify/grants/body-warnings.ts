import { setImmediate } from 'node:timers/promises';
import { loadModule } from 'libpg-query';
import type { Capability } from '../../../../capabilities/model.ts';
import type { Fault } from '../../../../capabilities/fault.ts';
import { faultAt } from '../../../sql/fault-at.ts';
import { runOwnStatements } from '../../execute/own-statements.ts';
import { PIN_SEARCH_PATH } from '../../execute/pin-search-path.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { readStatement } from '../statement/read-statement.ts';
import { grantsStatement } from './grants-query.ts';
import { askOfNeeded } from './missing-grants.ts';

const TIMEOUT_MS = 30_000;
const WITH_BODIES = `select distinct p.proname from pg_proc p join pg_language l on l.oid = p.prolang
  where l.lanname = 'sql' and p.oid >= 16384 and not p.prosecdef and p.prokind = 'f'
    and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')`;
/** With a list of columns one may be named that the body does not mean. */
const WITHOUT_COLUMNS = /^GRANT \w+ ON /;

/**
 * The capabilities that call functions of SQL whose bodies read what the account has no grant on: the server looks into these
 * only when they run.
 */
export async function bodyWarnings(
  pool: SessionPool,
  capabilities: readonly Capability[],
): Promise<readonly Fault[]> {
  const statements = [PIN_SEARCH_PATH, { text: WITH_BODIES }];
  const { results } = await runOwnStatements(pool, { statements, capability: '', timeoutMs: TIMEOUT_MS });
  const withBodies = new Set(results[1]?.rows.map(([name]) => name));
  if (withBodies.size === 0) return [];
  await loadModule();
  const warnings: Fault[] = [];
  for (const capability of capabilities) {
    // As in `unorderedStatements`.
    await setImmediate();
    const result = readStatement(capability);
    if (!result.ok || !result.read.inspected.functions.some(({ name }) => withBodies.has(name))) continue;
    const rows = await askOfNeeded(pool, [result.read.inspected.tree], grantsStatement);
    const grants = (rows ?? []).flatMap(([what, text]) =>
      what === 'sure' && typeof text === 'string' && WITHOUT_COLUMNS.test(text) ? [text] : [],
    );
    if (grants.length === 0) continue;
    const message = `calls a function whose body reads what the account may not; to grant it: ${grants.join('; ')}`;
    warnings.push(faultAt(capability, { message }));
  }
  return warnings;
}
