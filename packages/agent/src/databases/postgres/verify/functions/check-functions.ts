import type { Capability } from '../../../../capabilities/model.ts';
import type { VerificationFault } from '../../../driver/errors.ts';
import type { Rows, Statement } from '../../connection/statement.ts';
import { nameOf, type FunctionFacts } from './dependency-catalog.ts';
import type { Reached, ReachedFunction } from './find-reached.ts';
import { unnamedForeignTables } from './foreign-tables.ts';
import { isAllowed, isForbidden } from './known-functions.ts';
import type { QualifiedName } from '../statement/inspect.ts';
import { faultAt } from '../../../sql/fault-at.ts';
import { forbiddenMessage } from '../statement/read-statement.ts';
import { textArray } from '../../dialect/text-array.ts';

const EQUALS = 'operator(pg_catalog.=)';
const PROC = "'pg_catalog.pg_proc'::pg_catalog.regclass::pg_catalog.oid";
const EXTENSIONS = "'pg_catalog.pg_extension'::pg_catalog.regclass::pg_catalog.oid";
const EXTENSION = `(select e.extname from pg_catalog.pg_depend d join pg_catalog.pg_extension e on e.oid ${EQUALS} d.refobjid
          where d.classid ${EQUALS} ${PROC} and d.objid ${EQUALS} p.oid and d.deptype ${EQUALS} 'e'
          and d.refclassid ${EQUALS} ${EXTENSIONS})`;
const SCHEMA = `join pg_catalog.pg_namespace n on n.oid ${EQUALS} p.pronamespace`;
const IS_VOLATILE = `p.provolatile ${EQUALS} 'v'`;

/**
 * Asks for the volatile functions of all operators of these names and of every cast, which no name of a function tells:
 * (kind, schema, name, extension). It reads much of the catalog, so it is asked of volatile statements only. It runs on
 * the account's own path, so each operator is named with its schema: see `PIN_SEARCH_PATH`.
 */
export function operatorsStatement(operators: readonly string[]): Statement {
  return {
    text: `select 'operator', n.nspname, p.proname, ${EXTENSION}
        from pg_catalog.pg_operator o join pg_catalog.pg_proc p on p.oid ${EQUALS} o.oprcode ${SCHEMA}
        where ${IS_VOLATILE} and o.oprname ${EQUALS} any ($1::pg_catalog.text[]::pg_catalog.name[])
      union select 'cast', n.nspname, p.proname, ${EXTENSION}
        from pg_catalog.pg_cast c join pg_catalog.pg_proc p on p.oid ${EQUALS} c.castfunc ${SCHEMA}
        where ${IS_VOLATILE}`,
    values: [textArray([...new Set(operators)])],
  };
}

/**
 * Refuses calls of volatile functions. A name stands for all functions of that name; if one of them is volatile and
 * another is meant, `policy.allow_functions` says so. `isVolatile` is what the planner finds of the whole statement: if
 * it is not volatile, no operator in it is, whatever the catalog has of that name.
 */
export function checkFunctions(
  capability: Capability,
  called: readonly QualifiedName[],
  functions: readonly FunctionFacts[],
  isVolatile: boolean,
  operators: Rows['rows'],
): readonly VerificationFault[] {
  // By name, since not all of them are volatile and so in the catalog's list.
  const forbidden = [...new Set(called.map(({ name }) => name).filter(isForbidden))];
  const faults = new Map<string, VerificationFault>();
  for (const name of forbidden) faults.set(name, faultAt(capability, { message: forbiddenMessage(name) }));
  let isExplained = !isVolatile;
  const found = [
    ...functions
      .filter((each) => each.isVolatile)
      .map(({ schema, name, extension }) => ({ kind: 'function', schema, name, extension })),
    ...operators.map(([kind, schema, name, extension]) => ({
      kind,
      schema: schema ?? '',
      name: name ?? '',
      extension: extension ?? undefined,
    })),
  ];
  for (const { kind, schema, name, extension } of found) {
    const allowed = isAllowed({ schema, name, extension }, capability.allowFunctions);
    // Nothing tells which cast the statement has.
    if (kind === 'cast' && !allowed) continue;
    isExplained = true;
    if (allowed || forbidden.includes(name)) continue;
    // Names of the server's own functions are public; others tell of the schema.
    const which = schema === 'pg_catalog' ? name : 'a function of the database';
    const message = `calls ${which}, which is volatile: remove it or name it in policy.allow_functions`;
    const detail = `volatile function ${schema}.${name}`;
    faults.set(detail, faultAt(capability, { message, detail }));
  }
  if (!isExplained) {
    const message =
      'uses an operator or a cast whose function is volatile: mark that function STABLE or IMMUTABLE, or name it in policy.allow_functions';
    faults.set('', faultAt(capability, { message }));
  }
  return [...faults.values()];
}

/** Refuses functions that a statement runs without naming them, with the way to them, and foreign tables. */
export function checkReached(capability: Capability, reached: Reached): readonly VerificationFault[] {
  return [
    ...reached.functions.map((each) => faultAt(capability, { message: messageOf(each) })),
    ...unnamedForeignTables(capability, reached.foreignTables).map((message) =>
      faultAt(capability, { message }),
    ),
  ];
}

function messageOf({ facts, problem, way }: ReachedFunction): string {
  const name = nameOf(facts);
  switch (problem) {
    case 'volatile':
      return `runs ${name}, which is volatile: remove what runs it, or name it in policy.allow_functions; ${way}`;
    case 'forbidden':
      return `runs ${name}, which does more than read and is never allowed: remove what runs it; ${way}`;
    case 'unreadable':
      return `runs ${name}, whose body cannot be parsed: name it in policy.allow_functions if it only reads; ${way}`;
  }
}
