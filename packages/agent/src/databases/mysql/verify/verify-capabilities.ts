import type { PrepareStatementInfo } from 'mysql2';
import type { Capability, Param, ParamSchema, ResultField } from '../../../capabilities/model.ts';
import type { Verification } from '../../driver/driver.ts';
import { withRemedy } from '../../driver/errors.ts';
import { refused, verificationOf, type CheckResult, type Refusal } from '../../sql/fault-at.ts';
import { matchColumns, type FieldResult } from '../../sql/verify/match-columns.ts';
import { countingParams, notNegative } from '../../sql/row-counts.ts';
import { QUERY_NAME } from '../../clauses/statement-source.ts';
import type { UnkeptColumn } from '../../clauses/tokens/page-orders.ts';
import { checkAssembled, type CheckedWhole } from '../../clauses/tokens/check-assembled.ts';
import type { Pool } from '../../sessions/pool.ts';
import type { MysqlConfig } from '../config/config.ts';
import { askDatabase } from '../connection/with-session.ts';
import { isDenied, isInvalidView, isLoss, isWrite, nameOf } from '../connection/server-errors.ts';
import type { MysqlSession } from '../connection/session.ts';
import { expandLists, MOST_ITEMS } from '../execute/expand-lists.ts';
import { CURSOR_VALUE } from '../execute/assembled-queries.ts';
import type { PlacedParam, PreparedQuery } from '../execute/prepared-query.ts';
import type { OneSelect } from '../../sql/one-select.ts';
import { markLists } from '../../sql/places/list-places.ts';
import { valueProbes } from '../../sql/probes/value-probes.ts';
import { booleanSearches } from './probes/boolean-searches.ts';
import { partsOf, type Column } from './columns.ts';
import { clauseDialect } from './clause-dialect.ts';
import { convertColumn, kindOfColumn } from './convert-column.ts';
import { judgeComparisons } from './places/judge-comparisons.ts';
import { judgeViews } from './judge-views.ts';
import { probeDialectOf } from './probes/probe-dialect.ts';
import { readStatement, type ReadStatement } from './read-statement.ts';
import { knownFunctions } from './known-functions.ts';
import { missingGrants } from './grants/missing-grants.ts';
import { keyColumn, type KeyColumn, type TextSet } from './key-columns.ts';
import { columnName, takesOuterLimit, wrapSelect, type OutputField } from './wrap-select.ts';

/** Checks each capability on its own; throws `DatabaseError` when the database cannot be asked. */
export async function verifyCapabilities(
  pool: Pool<MysqlSession>,
  config: MysqlConfig,
  capabilities: readonly Capability[],
): Promise<Verification<PreparedQuery>> {
  return askDatabase(pool, async (session) => {
    const results: CheckResult<PreparedQuery>[] = [];
    for (const capability of capabilities) results.push(await checkOne(session, config, capability));
    return verificationOf(results);
  });
}

async function checkOne(
  session: MysqlSession,
  config: MysqlConfig,
  capability: Capability,
): Promise<CheckResult<PreparedQuery>> {
  if (capability.clauses === undefined) return check(session, config, capability);
  const checked = await checkAssembled(capability, clauseDialect, (plain) => check(session, config, plain));
  if (!checked.ok) return checked;
  const { query, assembled } = checked;
  return { ok: true, query: { ...query, assembled }, capability: checked.capability };
}

async function check(
  session: MysqlSession,
  config: MysqlConfig,
  capability: Capability,
): Promise<CheckedWhole<PreparedQuery> | Refusal> {
  const result = readStatement(capability, session.isMariaDb);
  if (!result.ok) return result;
  const { read } = result;
  if (read.asksCaller && !config.callerVariables) {
    const message =
      'reads the caller, which the database is not told: set caller_variables: true for its database';
    return refused(capability, { message });
  }
  const described = await prepared(session, capability, read.text, read);
  if (!described.ok) return described;
  const compared = await judgeComparisons(capability, read, (probe) => columnOfProbe(session, probe));
  if (!compared.ok) return refused(capability, ...compared.faults);
  const shadowing = await shadowingFunctions(session, read.select, capability.allowFunctions);
  if (shadowing.length > 0) {
    const message = `calls ${shadowing.join(', ')}, but the database has a stored function of that name: rename that function, or add it to allow_functions if it only reads`;
    return refused(capability, { message });
  }
  const problem = await judgeViews(session, read.select, config.name, capability.allowFunctions);
  if (problem !== undefined) {
    const { remedy, ...fault } = problem;
    return refused(capability, remedy === undefined ? fault : withRemedy(fault, remedy));
  }
  const columns = await withTexts(session, read, described.columns);
  // Servers do not tell large and small letters apart in the names of columns.
  const { output: fields, faults } = matchColumns(
    capability,
    columns,
    (name) => name.toLowerCase(),
    (field, column) => outputOf(field, column, session.isMariaDb),
  );
  if (faults.length > 0) return { ok: false, faults };
  const { limits } = capability;
  const hasOuterLimit = takesOuterLimit(read.select);
  const text = wrapSelect(read.text, fields, limits, hasOuterLimit);
  const wrapped = await prepared(session, capability, text, read);
  if (!wrapped.ok) return wrapped;
  const { body } = read.select;
  const declared = markLists(capability.params, body, capability);
  const placeholder = (param: number): number => placeholderOf(compared.params, capability.params[param]);
  const probes = valueProbes(capability.sql, body, declared, probeDialectOf(session.isMariaDb));
  const callsOwn = capability.allowFunctions.length > 0;
  let keys: ReturnType<typeof keyColumns> | undefined;
  return {
    ok: true,
    query: {
      capability: capability.name,
      text,
      params: compared.params,
      limits,
      probes: probes.map((probe) => ({ text: probe.text, params: probe.params.map(placeholder) })),
      searches: booleanSearches(body).map((name) =>
        compared.params.findIndex((param) => param.name === name),
      ),
      required: fields.flatMap(({ name, nullable }) => (nullable ? [] : [name])),
      hasFloats: fields.some(({ isFloat }) => isFloat),
      callsOwn,
      setsCaller: callsOwn && config.callerVariables,
    },
    capability: notNegative(boundedLists(capability, read), countingParams(body)),
    whole: {
      filled: read.filled,
      params: compared.params.length,
      keep: () => (keys ??= keyColumns(session, read, columns)),
      async prove(statement) {
        const keyOf = await keys;
        const texts = statement.fields.map((field) => {
          const key = keyOf?.(field);
          return key !== undefined && 'text' in key ? key.text : 'null';
        });
        const run = wrapSelect(statement.text, fields, limits, !statement.isOrdered && hasOuterLimit, texts);
        const params = statement.params.map((index) => compared.params[index] ?? CURSOR_VALUE);
        for (const sent of [statement.text, run]) {
          const proven = await prepared(session, capability, sent, { ...read, params });
          if (!proven.ok) return proven;
        }
        return { ok: true, forms: { statement: statement.text, run } };
      },
    },
  };
}

/** What a cursor keeps of each column; the server knows the collations of texts. */
async function keyColumns(
  session: MysqlSession,
  { text, params }: ReadStatement,
  columns: readonly Column[],
): Promise<(field: string) => KeyColumn | UnkeptColumn> {
  const asked = columns.filter((column) => kindOfColumn(column) === 'text');
  const sets = new Map<string, TextSet>();
  if (asked.length > 0) {
    const nulls = expandLists({ text, params }, []);
    const facts = asked.map(({ name }) => `charset(${columnName(name)}), collation(${columnName(name)})`);
    // No row of the statement is read: the columns tell it of nulls, too.
    const [row] = await session.askWith(
      `select json_array(${facts.join(', ')}) as facts
        from (select 1) one left join (select * from (${nulls.text}\n) ${QUERY_NAME} limit 0) q on true`,
      nulls.params.map(({ ifNull }) => ifNull ?? null),
    );
    const told: unknown = JSON.parse(String(row?.['facts']));
    const names = Array.isArray(told) ? told.map(String) : [];
    for (const [at, { name }] of asked.entries())
      sets.set(name, { set: names[2 * at] ?? '', collation: names[2 * at + 1] ?? '' });
  }
  return (field) =>
    keyColumn(
      columns.find(({ name }) => name === field),
      sets.get(field),
      session.isMariaDb,
    );
}

/** The placeholder where it is bound as declared, or else the first one. */
function placeholderOf(placed: readonly PlacedParam[], param: Param | undefined): number {
  const first = placed.findIndex(({ name }) => name === param?.name);
  const declared = placed.findIndex(({ name, schema }) => name === param?.name && schema === param.schema);
  return declared < 0 ? first : declared;
}

/** Limits lists to as many items as IN takes. */
function boundedLists(capability: Capability, { params }: ReadStatement): Capability {
  const lists = new Set(params.flatMap(({ isList, name }) => (isList ? [name] : [])));
  if (lists.size === 0) return capability;
  const bounded = ({ maxItems = MOST_ITEMS, ...schema }: ParamSchema): ParamSchema => ({
    ...schema,
    maxItems: Math.min(MOST_ITEMS, maxItems),
  });
  return {
    ...capability,
    params: capability.params.map((param) =>
      lists.has(param.name) ? { ...param, schema: bounded(param.schema) } : param,
    ),
  };
}

async function columnOfProbe(session: MysqlSession, probe: string): Promise<Column | undefined> {
  try {
    const { columns } = partsOf(await session.prepare(probe));
    session.connection.unprepare(probe);
    return columns[0];
  } catch (error) {
    if (isLoss(error)) throw error;
    return undefined;
  }
}

type Described = { readonly ok: true; readonly columns: readonly Column[] } | Refusal;

function problemOf(error: unknown): string {
  if (isWrite(error)) return 'writes to the database, directly or by a function: only reading is allowed';
  const next = isDenied(error) || isInvalidView(error) ? ': check the names, and grant what it reads' : '';
  return `is not accepted by the database: ${nameOf(error)}${next}`;
}

/** The server has to find the same parameters as the scanner, with empty lists and with others. */
export async function prepared(
  session: MysqlSession,
  capability: Capability,
  text: string,
  read: ReadStatement,
): Promise<Described> {
  const { params } = read;
  const variants = params.some(({ isList }) => isList) ? [[], [null]] : [[]];
  let columns: readonly Column[] = [];
  for (const items of variants) {
    const expanded = expandLists(
      { text, params },
      params.map(() => items),
    );
    let statement: PrepareStatementInfo;
    try {
      statement = await session.prepare(expanded.text);
    } catch (error) {
      if (isLoss(error)) throw error;
      const message = problemOf(error);
      const detail = error instanceof Error ? error.message : String(error);
      const asksGrants = isDenied(error) || isInvalidView(error);
      const grants = asksGrants ? await missingGrants(session, capability, read) : [];
      const fault = { message, detail };
      return refused(capability, grants.length === 0 ? fault : withRemedy(fault, grants.join('; ')));
    }
    const parts = partsOf(statement);
    session.connection.unprepare(expanded.text);
    if (parts.parameters !== expanded.params.length) {
      const message = 'has parameters where the database sees none: write them as values';
      return refused(capability, { message });
    }
    ({ columns } = parts);
  }
  return { ok: true, columns };
}

function outputOf(field: ResultField, column: Column, isMariaDb: boolean): FieldResult<OutputField> {
  const conversion = convertColumn(field, column, columnName(field.name), isMariaDb);
  return conversion.ok
    ? { ok: true, output: { ...conversion, name: field.name, nullable: field.nullable } }
    : { ok: false, message: conversion.problem, detail: `column type ${column.type}` };
}

/**
 * Functions of the database's own making that a statement would call under a name which is known to only read, or is a
 * word of SQL: some of these one kind of server has and the other has not.
 */
async function shadowingFunctions(
  session: MysqlSession,
  { functions, calledWords }: OneSelect,
  allowed: readonly string[],
): Promise<readonly string[]> {
  const bare = functions.filter(({ schema, isQuoted }) => schema === undefined && !isQuoted);
  const known = bare.map(({ name }) => name).filter((name) => knownFunctions.has(name));
  const names = [...new Set([...known, ...calledWords])].filter((name) => !allowed.includes(name));
  if (names.length === 0) return [];
  const rows = await session.askWith(
    `select lower(routine_name) as n from information_schema.routines
      where routine_schema = database() and lower(routine_name) in (${names.map(() => '?').join(', ')})`,
    names,
  );
  return rows.map(({ n }) => String(n));
}

/**
 * The columns of a statement, as texts where the server takes them for bytes only because it does not know the types of
 * parameters: MariaDB takes a parameter for bytes until it has a value, and so what functions make of it.
 */
async function withTexts(
  session: MysqlSession,
  { params, textWith }: ReadStatement,
  columns: readonly Column[],
): Promise<readonly Column[]> {
  if (params.length === 0 || !columns.some(({ isBinary }) => isBinary)) return columns;
  const text = textWith(({ schema, isList }) => {
    const type = isList ? schema.items?.type : schema.type;
    const isNumber = type === 'integer' || type === 'number' || type === 'boolean';
    return isNumber ? '0' : 'convert(? using utf8mb4)';
  });
  try {
    const typed = partsOf(await session.prepare(text)).columns;
    session.connection.unprepare(text);
    return columns.map((column, index) => ({
      ...column,
      isBinary: column.isBinary && typed[index]?.isBinary !== false,
    }));
  } catch (error) {
    if (isLoss(error)) throw error;
    // In a place for a bare parameter nothing more is known.
    return columns;
  }
}
