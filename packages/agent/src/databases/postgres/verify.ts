import { randomBytes } from 'node:crypto';
import { loadModule } from 'libpg-query';
import type pg from 'pg';
import type { Capability } from '../../config/agent-config.ts';
import { DatabaseError, type VerificationFault } from '../database.ts';
import { ask, type Answer } from './ask.ts';
import { checkFunctions, functionsStatement } from './check-functions.ts';
import { learnTypes, typeOfColumn, typesStatement, unknownTypes, type TypeCatalog } from './column-types.ts';
import { convertColumn, mayHoldUserJson } from './columns.ts';
import { QUERY_CANCELED, sqlStateOf, textOf } from './errors.ts';
import type { Statement } from './flight.ts';
import { readPlan } from './functions.ts';
import type { SessionPool } from './pool.ts';
import { faultAt, readStatement } from './read-statement.ts';
import type { VerifiedQuery } from './run.ts';
import type { SessionFacts } from './session.ts';
import { wrapSelect, wrapsExactly, type OutputColumn, type Wrapping } from './wrap.ts';

export interface Verified {
  readonly queries: readonly VerifiedQuery[];
  readonly faults: readonly VerificationFault[];
}

/** Planning runs functions that the SQL calls with constants, so even that is bounded. */
const STEP_TIMEOUT_MS = 10_000;
/** Enough to hide the way to the database, few enough to leave it at peace. */
const WORKERS = 4;
const READS_ONLY = new Set(['ModifyTable', 'LockRows']);

/** Checks each capability on its own; throws `DatabaseError` when the database cannot be asked. */
export async function verifyCapabilities(
  pool: SessionPool,
  capabilities: readonly Capability[],
): Promise<Verified> {
  await loadModule();
  const catalog: TypeCatalog = new Map();
  const results: CheckResult[] = [];
  const rest = capabilities.entries();
  const work = async (): Promise<void> => {
    for (const [index, capability] of rest) results[index] = await check(pool, capability, catalog);
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  return {
    queries: results.flatMap((result) => (result.ok ? [result.query] : [])),
    faults: results.flatMap((result) => (result.ok ? [] : result.faults)),
  };
}

type Refusal = { readonly ok: false; readonly faults: readonly VerificationFault[] };
type CheckResult = { readonly ok: true; readonly query: VerifiedQuery } | Refusal;

type Step = ({ readonly ok: true } & Answer) | Refusal;

async function check(pool: SessionPool, capability: Capability, catalog: TypeCatalog): Promise<CheckResult> {
  const read = readStatement(capability);
  if (!read.ok) return read;
  const { text, params } = read.rewritten;

  const planned = await step(pool, capability, [
    ...explain(text, params.length),
    // Runs nothing: a limit of 0 never asks for a row, but the server says of what types the columns are.
    { text: `select * from (\n${text}\n) q limit 0`, values: params.map(() => null) },
  ]);
  if (!planned.ok) return planned;
  const plan = readPlan(JSON.parse(planned.results[2]?.rows[0]?.[0] ?? 'null'));
  if ([...plan.nodes].some((node) => READS_ONLY.has(node))) {
    return refused(capability, 'writes or locks rows: only reading is allowed');
  }

  const columns = planned.results[4]?.fields ?? [];
  const called = [...read.inspected.functions, ...plan.functions];
  const lookedUp = await step(pool, capability, [
    typesStatement(unknownTypes(catalog, columns)),
    functionsStatement(called, read.inspected.operators),
  ]);
  if (!lookedUp.ok) return lookedUp;
  const [types, volatile] = lookedUp.results;
  if (types !== undefined) learnTypes(catalog, types);

  const faults = volatile === undefined ? [] : [...checkFunctions(capability, called, volatile)];
  const wrapping = wrappingOf(capability, columns, catalog, planned.facts, faults);
  if (faults.length > 0) return { ok: false, faults };

  const wrapped = wrapSelect(text, wrapping);
  if (!wrapsExactly(wrapped, read.inspected.tree, wrapping)) {
    return refused(capability, 'reaches out of its place in the statement around it: write one plain SELECT');
  }
  const proven = await step(pool, capability, explain(wrapped, params.length));
  if (!proven.ok) return proven;
  return {
    ok: true,
    query: { capability: capability.name, text: wrapped, params, limits: capability.limits },
  };
}

function refused(capability: Capability, message: string, detail?: string): Refusal {
  return {
    ok: false,
    faults: [faultAt(capability, detail === undefined ? { message } : { message, detail })],
  };
}

/**
 * The way that shows the plan for any values on every version: prepared, planned generically, explained. A rollback
 * does not undo the preparing, and behind a pooler what follows it may reach another connection.
 */
function explain(text: string, parameters: number): readonly Statement[] {
  const name = `svc_verify_${randomBytes(8).toString('hex')}`;
  const nulls = parameters === 0 ? '' : `(${Array.from({ length: parameters }, () => 'null').join(', ')})`;
  return [
    { text: "select pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true)" },
    { text: `prepare ${name} as ${text}` },
    { text: `explain (verbose, format json) execute ${name}${nulls}` },
    { text: `deallocate ${name}` },
  ];
}

async function step(
  pool: SessionPool,
  capability: Capability,
  statements: readonly Statement[],
): Promise<Step> {
  try {
    const question = { statements, capability: capability.name, timeoutMs: STEP_TIMEOUT_MS };
    return { ok: true, ...(await ask(pool, question)) };
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.kind === 'unavailable') throw error;
    return refused(capability, publicMessage(error.cause), textOf(error));
  }
}

/** What to do about the server's refusal, told without its words, which may quote the SQL. */
function publicMessage(error: unknown): string {
  const state = sqlStateOf(error);
  const why = state === undefined ? undefined : HINTS[state];
  return `is refused by the database (${why ?? `SQLSTATE ${state ?? 'unknown'}`}): see the log file for its words`;
}

const POOLER =
  'a pooler in between loses prepared statements: PgBouncer needs 1.21 or later with max_prepared_statements above 0';

const HINTS: Readonly<Record<string, string>> = {
  [QUERY_CANCELED]: `planning it takes more than ${STEP_TIMEOUT_MS / 1000} s`,
  '25006': 'it writes or locks rows',
  '26000': POOLER,
  '42P05': POOLER,
  '42501': 'the account may not read something that it names',
  '42601': 'it is not valid SQL for this server',
  '42702': 'a column name is ambiguous',
  '42703': 'a column does not exist',
  '42725': 'a function or operator fits in several ways: cast the parameter, as in :name::integer',
  '42804': 'types do not fit: cast the parameter, as in :name::integer',
  '42883':
    'a function or operator does not exist for the types given: cast the parameter to what it takes, as in :name::integer',
  '42P01': 'a table or view does not exist, or is not on the search path',
  '3F000': 'a schema does not exist',
};

function wrappingOf(
  capability: Capability,
  columns: readonly pg.FieldDef[],
  catalog: TypeCatalog,
  facts: SessionFacts,
  faults: VerificationFault[],
): Wrapping {
  const path = `capabilities.${capability.name}`;
  const output: OutputColumn[] = [];
  const byName = new Map<string, pg.FieldDef>();
  const declared = new Set(capability.result.map(({ name }) => name));
  for (const column of columns) {
    if (byName.has(column.name)) {
      const which = declared.has(column.name) ? `named ${column.name}` : 'of one name';
      const detail = `column ${column.name}`;
      faults.push(
        faultAt(capability, { message: `yields two columns ${which}: rename one with AS`, detail }),
      );
    }
    byName.set(column.name, column);
  }
  let foldLines = false;
  for (const field of capability.result) {
    const column = byName.get(field.name);
    const at = { path: `${path}.result.${field.name}`, position: field.position };
    if (column === undefined) {
      const detail = `columns: ${[...byName.keys()].join(', ')}`;
      faults.push({
        ...at,
        message: 'is not a column of the SQL: name one so with AS, or remove the field',
        detail,
      });
      continue;
    }
    const type = typeOfColumn(catalog, column);
    const conversion = convertColumn(field, type, facts.version);
    if (conversion.ok) output.push({ name: field.name, sql: conversion.sql });
    else faults.push({ ...at, message: conversion.problem, detail: `column type ${type.name}` });
    foldLines ||= field.type !== 'string' && mayHoldUserJson(type);
  }
  return { columns: output, limits: capability.limits, utf8: facts.utf8, foldLines };
}
