import type { Capability, ResultField } from '../../../capabilities/model.ts';
import type { Verification } from '../../driver/driver.ts';
import type { EnginePool } from '../../engine-process/engine-database.ts';
import { ASK } from '../../engine-process/engine-questions.ts';
import type { EngineSession } from '../../engine-process/engine-session.ts';
import type { CheckedWhole } from '../../clauses/tokens/check-assembled.ts';
import { verifyEach } from '../../engine-process/verify-each.ts';
import type { EngineQuery } from '../../engine-process/engine-queries.ts';
import { matchColumns, type FieldResult } from '../../sql/verify/match-columns.ts';
import type { ParameterFault } from '../../sql/template.ts';
import { refused, type Refusal } from '../../sql/fault-at.ts';
import { countingParams, notNegative } from '../../sql/row-counts.ts';
import type { DuckdbConfig } from '../config/config.ts';
import type { JudgedStatement } from '../engine/judge-statement.ts';
import {
  ASK_PROBE,
  type DuckdbColumn,
  type JudgeQuestion,
  type ProbeAnswer,
  type ProbeQuestion,
  type QueryDefinition,
} from '../engine/questions.ts';
import { valueProbes, type ValueProbe } from '../../sql/probes/value-probes.ts';
import { clauseDialect, keptColumn } from './clause-dialect.ts';
import { listOf, rowsOf } from './list-places.ts';
import { probeDialect } from './probe-dialect.ts';
import { castOf, readStatement, type ReadStatement, type Typing } from './read-statement.ts';
import { castUnbound, findTypes, misfits, suspectLists } from './type-parameters.ts';
import { convertColumn, wrapSelect, type OutputField } from './wrap-select.ts';

/** Checks each capability on its own; throws `DatabaseError` when the database cannot be asked. */
export function verifyCapabilities(
  pool: EnginePool,
  config: DuckdbConfig,
  capabilities: readonly Capability[],
): Promise<Verification> {
  return verifyEach(pool, config, capabilities, { dialect: clauseDialect, readStatement, check });
}

interface Judged {
  readonly ok: true;
  readonly question: JudgeQuestion;
  readonly columns: readonly DuckdbColumn[];
  /** See `JudgedStatement`. */
  readonly isLimited: boolean;
  readonly isOrdered: boolean;
  readonly typing: Typing;
}

export async function judge(
  session: EngineSession,
  capability: Capability,
  read: ReadStatement,
): Promise<Judged | Refusal> {
  const found = await findTypes(session, read);
  const typing = { found, untyped: new Set<number>(), casts: new Map<number, string>() };
  const judged = await judgeTyped(session, capability, read, typing);
  if (!judged.ok) return judged;
  const faults = misfits(read, found);
  if (faults.length > 0) return refused(capability, ...faults);
  const bound = await castUnbound(session, read, judged.typing);
  if (isFaults(bound)) return refused(capability, ...bound);
  return bound === judged.typing ? judged : judgeTyped(session, capability, read, bound);
}

async function judgeTyped(
  session: EngineSession,
  capability: Capability,
  read: ReadStatement,
  given: Typing,
): Promise<Judged | Refusal> {
  const { params, fill } = read;
  let { untyped } = given;
  for (;;) {
    const typing: Typing = { ...given, untyped };
    const question: JudgeQuestion = {
      text: fill(typing).text,
      parameters: params.length,
      allowFunctions: capability.allowFunctions,
    };
    const judged = await session.ask<JudgedStatement>(ASK.judge, question);
    if (!judged.ok) {
      const { problem: message, detail } = judged;
      const said = detail === undefined ? {} : { detail };
      const [list] = judged.isTypes ? [...misfits(read, typing.found), ...suspectLists(read)] : [];
      return refused(capability, { message, ...list, ...said });
    }
    if (judged.untyped.length === 0) return { ...judged, question, typing };
    const known = untyped;
    const more = judged.untyped.filter((number) => !known.has(number));
    if (more.length === 0 && untyped.size === params.length) {
      const message = 'has columns or parameters whose type DuckDB cannot tell: cast them in the SQL';
      return refused(capability, { message });
    }
    // If DuckDB derives the types of some from others, all are written.
    const next = more.length > 0 ? [...known, ...more] : params.map((_param, index) => index + 1);
    untyped = new Set(next);
  }
}

function isFaults(value: Typing | readonly ParameterFault[]): value is readonly ParameterFault[] {
  return Array.isArray(value);
}

async function check(
  session: EngineSession,
  capability: Capability,
  read: ReadStatement,
): Promise<CheckedWhole<EngineQuery<QueryDefinition>> | Refusal> {
  const found = await judge(session, capability, read);
  if (!found.ok) return found;
  const { question, columns, typing } = found;
  const { output: fields, faults } = matchColumns(
    capability,
    columns,
    // DuckDB does not tell large and small letters apart in the names of columns.
    (name) => name.toLowerCase(),
    outputOf,
  );
  if (faults.length > 0) return { ok: false, faults };
  const { limits } = capability;
  const definition: QueryDefinition = {
    judged: question,
    text: wrapSelect(question.text, fields, limits, found.isLimited),
    params: read.params.map(({ schema }) => schema.type),
    probes: findProbes(capability.sql, read, typing),
    required: fields.flatMap(({ name, nullable }) => (nullable ? [] : [name])),
    limits: { maxRows: limits.maxRows, maxBytes: limits.maxBytes, onLimit: limits.onLimit },
  };
  return {
    ok: true,
    query: { capability: capability.name, params: read.params, definition },
    capability: notNegative(capability, countingParams(read.body)),
    whole: {
      filled: read.fill(typing),
      params: read.params.length,
      keep: async () => (field) => keptColumn(columns, field),
      async prove(statement) {
        const { text, isOrdered } = statement;
        const run = wrapSelect(text, fields, limits, !isOrdered && found.isLimited, statement.fields);
        const taken = await prove(session, { ...question, text, parameters: statement.params.length }, run);
        return taken.ok ? { ...taken, forms: { statement: text, run } } : refused(capability, taken.problem);
      },
    },
  };
}

/** Whether DuckDB takes a statement of parts that were typed in the whole. */
async function prove(
  session: EngineSession,
  question: JudgeQuestion,
  run: string,
): Promise<
  | { readonly ok: true; readonly mayDiffer: boolean }
  | { readonly ok: false; readonly problem: { readonly message: string; readonly detail?: string } }
> {
  const judged = await session.ask<JudgedStatement>(ASK.judge, question);
  if (!judged.ok) {
    const { problem: message, detail } = judged;
    return { ok: false, problem: detail === undefined ? { message } : { message, detail } };
  }
  const message = 'has a parameter whose type DuckDB cannot tell here: cast it in the SQL';
  if (judged.untyped.length > 0) return { ok: false, problem: { message } };
  const { error } = await session.ask<ProbeAnswer>(ASK_PROBE, { text: run } satisfies ProbeQuestion);
  return error === undefined
    ? { ok: true, mayDiffer: judged.mayDiffer }
    : { ok: false, problem: { message: `is not accepted by the database: ${error} Error` } };
}

function outputOf({ name, nullable, type }: ResultField, column: DuckdbColumn): FieldResult<OutputField> {
  const conversion = convertColumn(type, column.type, `q."${name.replaceAll('"', '""')}"`);
  if (conversion.ok)
    return { ok: true, output: { name, nullable, json: conversion.json, absent: conversion.absent } };
  const message = `is declared ${type}, but its column has another type: declare that type, or cast the column in the SQL`;
  return { ok: false, message, detail: `column type ${column.type}` };
}

/** Probes of the statement's parameters, written as in the statement. */
function findProbes(
  sql: string,
  { body, params, references }: ReadStatement,
  typing: Typing,
): readonly ValueProbe[] {
  const lists = references.flatMap(({ number, param: { schema }, form }, at) => {
    const text =
      form === 'rows' ? rowsOf(1, schema, typing.found[at] ?? null) : `SELECT ${listOf(1, schema)}`;
    return form === 'rows' || form === 'list' ? [{ text, params: [number - 1] }] : [];
  });
  const casts = new Map(
    references.map((reference, at) => [reference.param.name, castOf(reference, at, typing)]),
  );
  const values = valueProbes(sql, body, params, {
    ...probeDialect,
    placeholder(number, { name }) {
      const cast = casts.get(name);
      return cast === undefined ? `$${number}` : `CAST($${number} AS ${cast})`;
    },
  });
  return [...lists, ...values];
}
