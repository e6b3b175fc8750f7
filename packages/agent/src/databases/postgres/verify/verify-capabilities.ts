import { loadModule } from 'libpg-query';
import type pg from 'pg';
import type { Capability } from '../../../capabilities/model.ts';
import type { Verification } from '../../driver.ts';
import type { VerificationFault } from '../../errors.ts';
import { PIN_SEARCH_PATH } from '../execute/pin-search-path.ts';
import { checkFunctions, functionsStatement, operatorsStatement } from './functions/check-functions.ts';
import { checkPresets } from './types/check-presets.ts';
import { chooseTypes } from './types/choose-types.ts';
import {
  learnTypes,
  typeOfColumn,
  typesStatement,
  unknownTypes,
  type TypeCatalog,
} from './types/column-types.ts';
import { convertColumn } from './types/convert-column.ts';
import { readPlan } from './functions/known-functions.ts';
import { emptyRange } from './types/parameter-fit.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { askVolatile, explain, refused, step, type Refusal } from './plan-statement.ts';
import { faultAt } from '../../sql/fault-at.ts';
import { notNegative, problemOfCount } from '../../sql/row-counts.ts';
import { countingParams } from './row-count-warnings.ts';
import { refusedAsTooDeep } from './statement/read-statement.ts';
import type { BoundParam, PreparedQuery } from '../execute/prepared-query.ts';
import { titlesStatement } from './types/server-types.ts';
import type { SessionFacts } from '../connection/database-session.ts';
import { wrapSelect, wrapsExactly, type OutputColumn, type Wrapping } from './wrap-select.ts';

interface PostgresVerification extends Verification {
  readonly prepared: readonly PreparedQuery[];
}

/** How many capabilities are checked at once: enough to hide the round trips, few enough not to load the database. */
const WORKERS = 4;
/** Up to this many rows cost more to prepare for, at each call, than looking up their types. */
const FEW_ROWS = 10;
const READS_ONLY = new Set(['ModifyTable', 'LockRows']);

/** Checks each capability on its own; throws `DatabaseError` when the database cannot be asked. */
export async function verifyCapabilities(
  pool: SessionPool,
  capabilities: readonly Capability[],
): Promise<PostgresVerification> {
  await loadModule();
  const catalog: TypeCatalog = new Map();
  const results: CheckResult[] = [];
  const rest = capabilities.entries();
  const work = async (): Promise<void> => {
    for (const [index, capability] of rest) {
      results[index] = await check(pool, capability, catalog).catch((error: unknown) =>
        refusedAsTooDeep(capability, error),
      );
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  return {
    prepared: results.flatMap((result) => (result.ok ? [result.query] : [])),
    capabilities: results.flatMap((result) => (result.ok ? [result.capability] : [])),
    faults: results.flatMap((result) => (result.ok ? [] : result.faults)),
  };
}

type CheckResult =
  | { readonly ok: true; readonly query: PreparedQuery; readonly capability: Capability }
  | Refusal;

async function check(pool: SessionPool, capability: Capability, catalog: TypeCatalog): Promise<CheckResult> {
  const typed = await chooseTypes(pool, capability);
  if (!typed.ok) return typed;
  const { read, plan: planned } = typed;
  const empty = emptyRanges(capability, typed.params);
  if (empty.length > 0) return { ok: false, faults: empty };
  const { text } = read.rewritten;
  const plan = readPlan(planned.plan);
  if ([...plan.nodes].some((node) => READS_ONLY.has(node))) {
    return refused(capability, 'writes or locks rows: only reading is allowed');
  }

  const { columns } = planned;
  const called = [...read.inspected.functions, ...plan.functions];
  const written = typed.params.flatMap((param) => param.written.map(({ name }) => name));
  const volatility = askVolatile(text, typed.params.length);
  const unknown = unknownTypes(catalog, columns);
  const lookedUp = await step(pool, capability, [
    ...volatility.statements,
    functionsStatement(called),
    ...(written.length === 0 ? [] : [titlesStatement(written)]),
    ...(unknown.length === 0 ? [] : [PIN_SEARCH_PATH, typesStatement(unknown)]),
  ]);
  if (!lookedUp.ok) return lookedUp;
  const { results } = lookedUp.output;
  const [functions, titles] = results.slice(volatility.statements.length);
  const types = unknown.length === 0 ? undefined : results.at(-1);
  if (types !== undefined) learnTypes(catalog, types);

  const title = written.length === 0 ? undefined : titles?.rows.values();
  const params = typed.params.map((param) => ({
    ...param,
    written: param.written.map((cast) => ({ ...cast, ...titleOf(title?.next().value) })),
  }));

  const faults: VerificationFault[] = [];
  const isVolatile = volatility.isVolatile(results);
  const operators = isVolatile
    ? await step(pool, capability, [operatorsStatement([...read.inspected.operators, ...plan.operators])])
    : undefined;
  if (operators?.ok === false) return operators;
  const volatile = [functions, operators?.output.results[0]].flatMap((answer) => answer?.rows ?? []);
  faults.push(...checkFunctions(capability, called, isVolatile, volatile));
  const output = outputOf(capability, columns, catalog, planned.facts, faults);
  if (faults.length > 0) return { ok: false, faults };

  const wrapping: Wrapping = {
    capability: capability.name,
    isVolatile,
    columns: output,
    limits: capability.limits,
    utf8: planned.facts.utf8,
    unlocks: planned.facts.unlocks,
    fewRows: plan.rows <= FEW_ROWS,
  };
  const whole = wrapSelect(text, wrapping, 'whole');
  const prefix = wrapSelect(text, wrapping, 'prefix');
  const { tree } = read.inspected;
  if (!wrapsExactly(whole, tree, wrapping, 'whole') || !wrapsExactly(prefix, tree, wrapping, 'prefix')) {
    return refused(capability, 'reaches out of its place in the statement around it: write one plain SELECT');
  }
  const proven = await step(pool, capability, explain(prefix, params.length));
  if (!proven.ok) return proven;
  const counts = countingParams(read);
  const miscounted = capability.params.flatMap(({ name, schema }) => {
    const message = counts.has(name) ? problemOfCount(schema) : undefined;
    return message === undefined ? [] : [faultAt(capability, { message }, name)];
  });
  if (miscounted.length > 0) return { ok: false, faults: miscounted };
  const presets = await checkPresets(pool, capability, params);
  if (presets.length > 0) return { ok: false, faults: presets };
  const byName = new Map(params.map(({ param }) => [param.name, param]));
  return {
    ok: true,
    query: { capability: capability.name, whole, prefix, params, limits: capability.limits },
    capability: notNegative(
      { ...capability, params: capability.params.map((param) => byName.get(param.name) ?? param) },
      counts,
    ),
  };
}

function titleOf(row: readonly (string | null)[] | undefined): { readonly title?: string } {
  const title = row?.[0];
  // The server puts the schema in front where the path has another type of that name.
  return typeof title === 'string' ? { title: title.replace(/^pg_catalog\./, '') } : {};
}

/** A type may take none of the numbers that the file allows: then every call would be refused. */
function emptyRanges(capability: Capability, params: readonly BoundParam[]): readonly VerificationFault[] {
  return params.flatMap(({ param, type }) => {
    const declared = capability.params.find(({ name }) => name === param.name)?.schema;
    const bounds = type === undefined || declared === undefined ? undefined : emptyRange(declared, type);
    return bounds === undefined ? [] : [faultAt(capability, { message: bounds }, param.name)];
  });
}

function outputOf(
  capability: Capability,
  columns: readonly pg.FieldDef[],
  catalog: TypeCatalog,
  facts: SessionFacts,
  faults: VerificationFault[],
): readonly OutputColumn[] {
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
    if (conversion.ok) output.push({ ...conversion, name: field.name, nullable: field.nullable });
    else faults.push({ ...at, message: conversion.problem, detail: `column type ${type.name}` });
  }
  return output;
}
