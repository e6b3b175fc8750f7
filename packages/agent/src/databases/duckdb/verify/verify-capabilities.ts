import type { Capability } from '../../../capabilities/model.ts';
import type { Verification } from '../../driver/driver.ts';
import type { EnginePool } from '../../engine-process/engine-database.ts';
import { ASK } from '../../engine-process/engine-questions.ts';
import type { EngineSession } from '../../engine-process/engine-session.ts';
import { verifyEach, type CheckResult } from '../../engine-process/verify-each.ts';
import type { VerificationFault } from '../../driver/errors.ts';
import type { ParameterFault } from '../../sql/create-template.ts';
import { faultAt } from '../../sql/fault-at.ts';
import { countingParams, notNegative } from '../../sql/row-counts.ts';
import type { DuckdbConfig } from '../config/config.ts';
import type { JudgedStatement } from '../engine/judge-statement.ts';
import type { DuckdbColumn, JudgeQuestion, QueryDefinition } from '../engine/questions.ts';
import { findProbes } from './find-probes.ts';
import { readStatement, type ReadStatement, type Typing } from './read-statement.ts';
import { castUnbound, findTypes, misfits, suspectLists } from './type-parameters.ts';
import { convertColumn, wrapSelect, type OutputField } from './wrap-select.ts';

/** Checks each capability on its own; throws `DatabaseError` when the database cannot be asked. */
export function verifyCapabilities(
  pool: EnginePool,
  config: DuckdbConfig,
  capabilities: readonly Capability[],
): Promise<Verification> {
  return verifyEach(pool, capabilities, (session, capability) => check(session, config, capability));
}

export type Judged =
  | {
      readonly ok: true;
      readonly question: JudgeQuestion;
      readonly judged: Extract<JudgedStatement, { ok: true }>;
      readonly typing: Typing;
    }
  | { readonly ok: false; readonly faults: readonly VerificationFault[] };

/** What DuckDB makes of the statement of a capability. */
export async function judge(
  session: EngineSession,
  capability: Capability,
  read: ReadStatement,
): Promise<Judged> {
  const found = await findTypes(session, read);
  const typing = { found, untyped: new Set<number>(), casts: new Map<number, string>() };
  const judged = await judgeTyped(session, capability, read, typing);
  if (!judged.ok) return judged;
  const faults = misfits(read, found);
  if (faults.length > 0) return refused(capability, faults);
  const bound = await castUnbound(session, read, judged.typing);
  if (isFaults(bound)) return refused(capability, bound);
  return bound === judged.typing ? judged : judgeTyped(session, capability, read, bound);
}

async function judgeTyped(
  session: EngineSession,
  capability: Capability,
  read: ReadStatement,
  given: Typing,
): Promise<Judged> {
  const { params, text } = read;
  let { untyped } = given;
  for (;;) {
    const typing: Typing = { ...given, untyped };
    const question: JudgeQuestion = {
      text: text(typing),
      parameters: params.length,
      allowFunctions: capability.allowFunctions,
    };
    const judged = await session.ask<JudgedStatement>(ASK.judge, question);
    if (!judged.ok) {
      const { problem: message, detail } = judged;
      const said = detail === undefined ? {} : { detail };
      const lists = [...misfits(read, typing.found), ...suspectLists(read)];
      if (judged.isTypes && lists.length > 0) return refused(capability, lists.slice(0, 1), said);
      return { ok: false, faults: [faultAt(capability, { message, ...said })] };
    }
    if (judged.untyped.length === 0) return { ok: true, question, judged, typing };
    const known = untyped;
    const more = judged.untyped.filter((number) => !known.has(number));
    if (more.length === 0 && untyped.size === params.length) {
      const message = 'has columns or parameters whose type DuckDB cannot tell: cast them in the SQL';
      return { ok: false, faults: [faultAt(capability, { message })] };
    }
    // Where DuckDB knows the types of some only by those of others, all are said.
    const next = more.length > 0 ? [...known, ...more] : params.map((_param, index) => index + 1);
    untyped = new Set(next);
  }
}

function isFaults(value: Typing | readonly ParameterFault[]): value is readonly ParameterFault[] {
  return Array.isArray(value);
}

function refused(
  capability: Capability,
  faults: readonly ParameterFault[],
  said: { readonly detail?: string } = {},
): Extract<Judged, { ok: false }> {
  return {
    ok: false,
    faults: faults.map(({ param, ...fault }) => faultAt(capability, { ...fault, ...said }, param)),
  };
}

async function check(
  session: EngineSession,
  config: DuckdbConfig,
  capability: Capability,
): Promise<CheckResult> {
  const result = readStatement(capability);
  if (!result.ok) return result;
  const { read } = result;
  const [untold] = config.hasCallerVariables ? [] : read.callerParams;
  if (untold !== undefined) {
    const message = `uses :${untold}, which the database is not told: set its caller_variables to true`;
    return { ok: false, faults: [faultAt(capability, { message })] };
  }
  const found = await judge(session, capability, read);
  if (!found.ok) return found;
  const { question, judged, typing } = found;
  const faults: VerificationFault[] = [];
  const fields = outputOf(capability, judged.columns, faults);
  if (faults.length > 0) return { ok: false, faults };
  const { limits } = capability;
  const definition: QueryDefinition = {
    judged: question,
    text: wrapSelect(question.text, fields, limits, judged.isLimited),
    params: read.params.map(({ schema }) => schema.type),
    probes: findProbes(capability.sql, read, typing),
    required: fields.flatMap(({ name, nullable }) => (nullable ? [] : [name])),
    limits: { maxRows: limits.maxRows, maxBytes: limits.maxBytes, onLimit: limits.onLimit },
  };
  return {
    ok: true,
    query: { capability: capability.name, params: read.params, definition },
    capability: notNegative(capability, countingParams(read.body)),
  };
}

function outputOf(
  capability: Capability,
  columns: readonly DuckdbColumn[],
  faults: VerificationFault[],
): readonly OutputField[] {
  // DuckDB does not tell large and small letters apart in the names of columns.
  const byName = new Map<string, DuckdbColumn>();
  const declared = new Set(capability.result.map(({ name }) => name.toLowerCase()));
  const twins = new Set<string>();
  for (const column of columns) {
    const key = column.name.toLowerCase();
    if (byName.has(key)) twins.add(key);
    byName.set(key, column);
  }
  for (const twin of twins) {
    const which = declared.has(twin) ? `named ${twin}` : 'of one name';
    const message = `yields two columns ${which}: rename one with AS`;
    faults.push(faultAt(capability, { message, detail: `column ${twin}` }));
  }
  return capability.result.flatMap((field): readonly OutputField[] => {
    const { name, nullable, position, type } = field;
    const path = `capabilities.${capability.name}.result.${name}`;
    const column = byName.get(name.toLowerCase());
    if (column?.name !== name) {
      const message = 'is not a column of the SQL: name one so with AS, or remove the field';
      const detail = `columns: ${columns.map((each) => each.name).join(', ')}`;
      faults.push({ path, position, message, detail });
      return [];
    }
    const conversion = convertColumn(type, column.type, `q."${name.replaceAll('"', '""')}"`);
    if (conversion.ok) return [{ name, nullable, json: conversion.json, absent: conversion.absent }];
    const message = `is declared ${type}, which its column is not: declare what it is, or cast it in the SQL`;
    faults.push({ path, position, message, detail: `column type ${column.type}` });
    return [];
  });
}
