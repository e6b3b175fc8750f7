import type { Capability } from '../../../capabilities/model.ts';
import type { Fault } from '../../../capabilities/fault.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { faultAt } from '../../sql/fault-at.ts';
import { PIN_SEARCH_PATH, runOwnStatements } from '../execute/own-statements.ts';
import { namedRelations } from './statement/readable-statements.ts';
import { relationIds } from './relation-keys.ts';

const SECURITY_INVOKER_VERSION = 150_000;

/**
 * Views through which somebody reads a table without its row-level security: `definer` is the first view on the way that
 * runs as its owner. If no table has such security, no view is looked at.
 */
const VIEWS = `with recursive reached (view, relation, definer) as (
  select c.oid, c.oid, null::oid from pg_class c
    where c.relkind = 'v' and exists (select from pg_class t where t.relrowsecurity)
  union select r.view, d.refobjid, coalesce(r.definer, case when not coalesce(
      (select o.option_value::bool from pg_options_to_table(v.reloptions) o where o.option_name = 'security_invoker'),
      false) then v.oid end)
    from reached r join pg_class v on v.oid = r.relation and v.relkind = 'v'
    join pg_rewrite w on w.ev_class = v.oid
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
      and d.refclassid = 'pg_class'::regclass and d.refobjid <> v.oid
)
select r.view, format('%I.%I', vn.nspname, v.relname), format('%I.%I', tn.nspname, t.relname)
from reached r join pg_class t on t.oid = r.relation and t.relrowsecurity join pg_namespace tn on tn.oid = t.relnamespace
join pg_class v on v.oid = r.definer join pg_namespace vn on vn.oid = v.relnamespace
join pg_roles o on o.oid = v.relowner
where o.rolsuper or o.rolbypassrls or not t.relforcerowsecurity and pg_has_role(v.relowner, t.relowner, 'USAGE')
order by 1, 2, 3`;

export async function viewWarnings(
  pool: SessionPool,
  capabilities: readonly Capability[],
): Promise<readonly Fault[]> {
  const { results, facts } = await runOwnStatements(pool, { statements: [PIN_SEARCH_PATH, { text: VIEWS }] });
  const views = results[1]?.rows ?? [];
  if (views.length === 0) return [];
  const named = await Promise.all(capabilities.map((capability) => namedRelations([capability])));
  const ids = await relationIds(pool, named.flat());
  return capabilities.flatMap((capability, index) => {
    const read = new Set(named[index]?.map((name) => ids.get(name)));
    const messages = views
      .filter(([view]) => read.has(view ?? ''))
      .map(([, definer, table]) => messageOf(definer ?? '', table ?? '', facts.version));
    return [...new Set(messages)].map((message) => faultAt(capability, { message }));
  });
}

function messageOf(view: string, table: string, version: number): string {
  const remedy =
    version >= SECURITY_INVOKER_VERSION
      ? `to fix it: ALTER VIEW ${view} SET (security_invoker = true)`
      : 'to fix it: query the table itself, since only PostgreSQL 15 or later can run a view as its caller (security_invoker)';
  return `reads ${table} through the view ${view}, which runs as its owner, so that the row-level security of that table does not apply; ${remedy}`;
}
