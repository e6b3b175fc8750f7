import type { Capability } from '../../../../capabilities/model.ts';
import type { Fault } from '../../../../capabilities/fault.ts';
import { faultAt } from '../../../sql/fault-at.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { readableStatements } from '../statement/readable-statements.ts';
import { grantsStatement } from './grants-query.ts';
import { askOfNeeded } from './missing-grants.ts';
import { askCatalog } from '../../execute/own-statements.ts';

const WITH_BODIES = `select distinct p.proname from pg_proc p join pg_language l on l.oid = p.prolang
  where l.lanname = 'sql' and p.oid >= 16384 and not p.prosecdef and p.prokind = 'f'
    and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')`;
/** A list of columns may have one that the body does not mean. */
const WITHOUT_COLUMNS = /^GRANT \w+ ON /;

/**
 * Capabilities that call functions of SQL whose bodies read what the account may not: the server looks into these only
 * when they run.
 */
export async function bodyWarnings(
  pool: SessionPool,
  capabilities: readonly Capability[],
): Promise<readonly Fault[]> {
  const withBodies = new Set((await askCatalog(pool, { text: WITH_BODIES })).map(([name]) => name));
  if (withBodies.size === 0) return [];
  const warnings: Fault[] = [];
  for await (const { capability, read } of readableStatements(capabilities)) {
    const { functions, tree } = read.inspected;
    if (!functions.some(({ name }) => withBodies.has(name))) continue;
    const rows = await askOfNeeded(pool, [tree], grantsStatement);
    const grants = (rows ?? []).flatMap(([what, text]) =>
      what === 'sure' && typeof text === 'string' && WITHOUT_COLUMNS.test(text) ? [text] : [],
    );
    if (grants.length === 0) continue;
    const message = `calls a function whose body reads what the account may not; to grant it: ${grants.join('; ')}`;
    warnings.push(faultAt(capability, { message }));
  }
  return warnings;
}
