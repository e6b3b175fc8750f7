import type { Capability, ResultField } from '../../../capabilities/model.ts';
import type { VerificationFault } from '../../driver/errors.ts';
import { findProbes } from './statement/find-probes.ts';
import { checkFunctions, checkReached, operatorsStatement } from './functions/check-functions.ts';
import type { DependencyCatalog } from './functions/dependency-catalog.ts';
import { findReached } from './functions/find-reached.ts';
import { checkPresets } from './types/check-presets.ts';
import { chooseTypes, type TypedStatement } from './types/choose-types.ts';
import { convertColumn } from './types/convert-column.ts';
import { readPlan } from './functions/known-functions.ts';
import { emptyRange } from './types/parameter-fit.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { askVolatile, refused, step } from './plan-statement.ts';
import { faultAt, type CheckResult } from '../../sql/fault-at.ts';
import { matchColumns, type FieldResult } from '../../sql/verify/match-columns.ts';
import { notNegative, problemOfCount } from '../../sql/row-counts.ts';
import { namedObjects, type NamedObjects } from './statement/named-objects.ts';
import type { ReadStatement } from './statement/read-statement.ts';
import { FEW_ROWS, type BoundParam, type PreparedQuery } from '../execute/prepared-query.ts';
import { statementsAround, type OutputColumn, type Wrapping } from './wrap-select.ts';
import { PIN_SEARCH_PATH } from '../execute/own-statements.ts';
import type { BlindCatalog } from './blind/blind-catalog.ts';
import { judge, otherNames } from './blind/judge.ts';
import { prove } from './blind/prove.ts';
import {
  learnTypes,
  titlesStatement,
  type TypeCatalog,
  typeOfColumn,
  typesStatement,
  unknownTypes,
} from './types/server-types.ts';
import { countingParams } from './parameter-warnings.ts';

const READS_ONLY = new Set(['ModifyTable', 'LockRows']);

/** What is learnt for one capability serves the others. */
export interface Known {
  readonly types: TypeCatalog;
  readonly dependencies: DependencyCatalog;
  /** Undefined if each call has its own transaction in any case. */
  readonly blind: BlindCatalog | undefined;
}

/** A statement that has been read, and what it names. */
export interface NamingStatement {
  readonly ok: true;
  readonly read: ReadStatement;
  readonly named: NamedObjects;
}

/** Plans it, and decides what its parameters are bound as. */
export async function typeStatement(
  pool: SessionPool,
  capability: Capability,
  statement: NamingStatement,
  { dependencies }: Known,
): Promise<TypedStatement> {
  // Before it is prepared: the server reads the statement's literals then, which runs what their types run.
  const before = findReached(dependencies, statement.named, [], capability.allowFunctions);
  const atOnce = checkReached(capability, before);
  if (atOnce.length > 0) return { ok: false, faults: atOnce };
  const typed = await chooseTypes(pool, capability, statement.read);
  if (!typed.ok) return typed;
  const empty = emptyRanges(capability, typed.params);
  return empty.length > 0 ? { ok: false, faults: empty } : typed;
}

/** How the statements around it differ from those of a statement that is always the same. */
export type WrappingOf = Partial<Pick<Wrapping, 'isAssembled' | 'border' | 'fewRows'>>;

/** Proves all else of a statement whose types are known, and makes what runs for a call. */
export async function checkTyped(
  pool: SessionPool,
  capability: Capability,
  { read, plan: planned, params: bound }: Omit<TypedStatement & { readonly ok: true }, 'ok'>,
  { types: catalog, dependencies, blind }: Known,
  wrappingOf: WrappingOf = {},
): Promise<CheckResult<PreparedQuery>> {
  const { text } = read.rewritten;
  const plan = readPlan(planned.plan);
  if ([...plan.nodes].some((node) => READS_ONLY.has(node))) {
    return refused(capability, 'writes or locks rows: only reading is allowed');
  }

  const { columns } = planned;
  const called = [...read.inspected.functions, ...plan.functions];
  const casts = bound.flatMap((param) => param.written.map(({ name }) => name));
  const volatility = askVolatile(text, bound.length);
  const unknown = unknownTypes(catalog, columns);
  const named = withPlan(namedObjects(read.inspected.tree), plan);
  const isOutput = new Set(capability.result.map(({ name }) => name));
  const outputTypes = columns
    .filter(({ name }) => isOutput.has(name))
    .map((column) => `${column.dataTypeID}`);
  const question = dependencies.question(withOthers(named), outputTypes);
  const lookedUp = await step(pool, capability, [
    ...volatility.statements,
    ...(casts.length === 0 ? [] : [titlesStatement(casts)]),
    ...(question?.statements ?? []),
    ...(unknown.length === 0 ? [] : [PIN_SEARCH_PATH, typesStatement(unknown)]),
  ]);
  if (!lookedUp.ok) return lookedUp;
  const { results } = lookedUp.output;
  const others = results.slice(volatility.statements.length);
  const title = casts.length === 0 ? undefined : others.shift()?.rows.values();
  const types = unknown.length === 0 ? undefined : results.at(-1);
  if (types !== undefined) learnTypes(catalog, types);

  if (question !== undefined) dependencies.answer(question, others);
  // Bodies of functions may name more.
  await dependencies.learn([named], outputTypes);

  const params = bound.map((param) => ({
    ...param,
    written: param.written.map((cast) => ({ ...cast, ...titleOf(title?.next().value) })),
  }));

  const faults: VerificationFault[] = [];
  const isVolatile = volatility.isVolatile(results);
  const operators = isVolatile
    ? await step(pool, capability, [
        operatorsStatement([...read.inspected.operators, ...plan.operators.map(({ name }) => name)]),
      ])
    : undefined;
  if (operators?.ok === false) return operators;
  const functions = dependencies.functionsNamed(called);
  const operatorRows = operators?.output.results[0]?.rows ?? [];
  faults.push(...checkFunctions(capability, called, functions, isVolatile, operatorRows));
  faults.push(
    ...checkReached(capability, findReached(dependencies, named, outputTypes, capability.allowFunctions)),
  );
  const { output, faults: misfits } = matchColumns(
    capability,
    columns,
    (name) => name,
    (field, column) => outputOf(field, typeOfColumn(catalog, column), planned.facts.version),
  );
  faults.push(...misfits);
  if (faults.length > 0) return { ok: false, faults };

  const wrapping: Wrapping = {
    capability: capability.name,
    isVolatile,
    columns: output,
    limits: capability.limits,
    utf8: planned.facts.utf8,
    unlocks: planned.facts.unlocks,
    fewRows: plan.rows <= FEW_ROWS,
    ...wrappingOf,
  };
  const { tree } = read.inspected;
  const own = statementsAround(text, tree, wrapping);
  if (own === undefined) {
    return refused(capability, 'reaches out of its place in the statement around it: write one plain SELECT');
  }
  await blind?.learn(withOthers(named));
  const judged = { text, tree, plan, isVolatile, columns, facts: planned.facts };
  const judgement = blind === undefined ? ({ own: 'off' } as const) : judge(judged, blind);
  const proven = await prove(pool, {
    capability,
    judgement,
    own,
    wrapping,
    text,
    plan: planned.plan,
    params: params.length,
  });
  if (!proven.ok) return proven;
  const counts = countingParams(read);
  const miscounted = capability.params.flatMap(({ name, schema }) => {
    const message = counts.has(name) ? problemOfCount(schema) : undefined;
    return message === undefined ? [] : [faultAt(capability, { message }, name)];
  });
  if (miscounted.length > 0) return { ok: false, faults: miscounted };
  const presets = await checkPresets(pool, capability, params);
  if (presets.length > 0) return { ok: false, faults: presets };
  const { references } = read.template;
  const names = references.map((index) => read.template.params[index]?.name ?? '');
  const probes = findProbes(capability.sql, names, params);
  const byName = new Map(params.map(({ param }) => [param.name, param]));
  return {
    ok: true,
    query: { capability: capability.name, own, ...proven.sharing, params, probes, limits: capability.limits },
    capability: notNegative(
      { ...capability, params: capability.params.map((param) => byName.get(param.name) ?? param) },
      counts,
    ),
  };
}

export function withOthers(named: NamedObjects): readonly NamedObjects[] {
  return [named, otherNames(named)];
}

/** The plan shows what of views and implied calls and casts no name in the statement tells. */
function withPlan(named: NamedObjects, plan: ReturnType<typeof readPlan>): NamedObjects {
  return {
    ...named,
    functions: [...named.functions, ...plan.functions],
    types: [...named.types, ...plan.types],
    operators: [...named.operators, ...plan.operators],
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
  field: ResultField,
  type: ReturnType<typeof typeOfColumn>,
  version: number,
): FieldResult<OutputColumn> {
  const conversion = convertColumn(field, type, version);
  return conversion.ok
    ? { ok: true, output: { ...conversion, name: field.name, nullable: field.nullable } }
    : { ok: false, message: conversion.problem, detail: `column type ${type.name}` };
}
