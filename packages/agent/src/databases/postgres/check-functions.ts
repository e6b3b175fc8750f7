import type { Capability } from '../../config/agent-config.ts';
import type { VerificationFault } from '../database.ts';
import type { Rows, Statement } from './flight.ts';
import { isAllowed, isForbidden } from './functions.ts';
import type { QualifiedName } from './inspect.ts';
import { faultAt, forbiddenMessage } from './read-statement.ts';
import { bindValue } from './values.ts';

const EXTENSION = `(select e.extname from pg_catalog.pg_depend d join pg_catalog.pg_extension e on e.oid = d.refobjid
          where d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass and d.objid = p.oid and d.deptype = 'e'
          and d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass)`;

/** Asks which of the names are volatile functions: (kind, schema, name, on the search path, its extension). */
export function functionsStatement(
  called: readonly QualifiedName[],
  operators: readonly string[],
): Statement {
  const texts = (values: readonly string[]): string | null =>
    bindValue({ type: 'array', items: { type: 'string' } }, [...new Set(values)]);
  return {
    text: `select 'function', n.nspname, p.proname, pg_catalog.pg_function_is_visible(p.oid), ${EXTENSION}
        from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
        where p.provolatile = 'v' and p.proname = any ($1::pg_catalog.text[])
      union select 'operator', n.nspname, p.proname, true, ${EXTENSION}
        from pg_catalog.pg_operator o join pg_catalog.pg_proc p on p.oid = o.oprcode
        join pg_catalog.pg_namespace n on n.oid = p.pronamespace
        where p.provolatile = 'v' and o.oprname = any ($2::pg_catalog.text[])`,
    values: [texts(called.map(({ name }) => name)), texts(operators)],
  };
}

/**
 * Refuses what is called of the volatile functions that the catalog has. A name stands for all functions of that
 * name; where one of them is volatile and another one is meant, `policy.allow_functions` says so.
 */
export function* checkFunctions(
  capability: Capability,
  called: readonly QualifiedName[],
  volatile: Rows,
): Generator<VerificationFault> {
  for (const [kind, schema, name, visible, extension] of volatile.rows) {
    if (typeof schema !== 'string' || typeof name !== 'string') continue;
    const isCalled =
      kind === 'operator' ||
      called.some(
        (one) => one.name === name && (one.schema === undefined ? visible === 't' : one.schema === schema),
      );
    if (!isCalled) continue;
    if (isForbidden(name)) {
      yield faultAt(capability, { message: forbiddenMessage(name) });
    } else if (!isAllowed({ schema, name, extension: extension ?? undefined }, capability.allowFunctions)) {
      // The names of the server's own functions are public, others tell of the schema.
      const which = schema === 'pg_catalog' ? name : 'a function of the database';
      const message = `calls ${which}, which is volatile: remove it or name it in policy.allow_functions`;
      yield faultAt(capability, { message, detail: `volatile function ${schema}.${name}` });
    }
  }
}
