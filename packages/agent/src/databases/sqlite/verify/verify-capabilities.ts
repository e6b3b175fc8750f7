import type { Capability } from '../../../capabilities/model.ts';
import type { Verification } from '../../driver/driver.ts';
import { refused, type Refusal } from '../../sql/fault-at.ts';
import { matchColumns } from '../../sql/verify/match-columns.ts';
import { countingParams, notNegative } from '../../sql/row-counts.ts';
import { QUERY_NAME } from '../../clauses/statement-source.ts';
import type { CheckedWhole } from '../../clauses/tokens/check-assembled.ts';
import type { KeptColumn, UnkeptColumn } from '../../clauses/tokens/page-orders.ts';
import { askRows, type EnginePool } from '../../engine-process/engine-database.ts';
import { ASK, type JudgeAnswer } from '../../engine-process/engine-questions.ts';
import type { EngineSession } from '../../engine-process/engine-session.ts';
import type { EngineQuery } from '../../engine-process/engine-queries.ts';
import type { FileConfig } from '../../engine-process/file-config.ts';
import { verifyEach } from '../../engine-process/verify-each.ts';
import type { JudgeQuestion, QueryDefinition, SqliteColumn } from '../engine/questions.ts';
import { clauseDialect, quoted } from './clause-dialect.ts';
import type { OneSelect } from '../../sql/one-select.ts';
import { valueProbes } from '../../sql/probes/value-probes.ts';
import { judgeComparisons } from './judge-comparisons.ts';
import { probeDialect } from './probe-dialect.ts';
import { readStatement, type ReadStatement } from './read-statement.ts';

/** Checks each capability on its own; throws `DatabaseError` when the database cannot be asked. */
export function verifyCapabilities(
  pool: EnginePool,
  config: FileConfig,
  capabilities: readonly Capability[],
): Promise<Verification> {
  return verifyEach(pool, config, capabilities, { dialect: clauseDialect, readStatement, check });
}

async function check(
  session: EngineSession,
  capability: Capability,
  read: ReadStatement,
): Promise<CheckedWhole<EngineQuery<QueryDefinition>> | Refusal> {
  const { limits, allowFunctions } = capability;
  const { filled, select } = read;
  // One row more than may leave tells whether there are more, and lets a sort drop the others.
  const limited = (text: string): string => `${text}\nlimit ${limits.maxRows + 1}`;
  const text = read.takesLimit ? limited(filled.text) : filled.text;
  const judged = await judge(session, capability, text);
  if (!judged.ok) return judged;
  const { columns } = judged;
  const compared = await judgeComparisons(capability, select.body, async (probe) => {
    const answer = await judge(session, capability, probe);
    return answer.ok ? (answer.columns[0]?.type ?? null) : undefined;
  });
  if (compared.length > 0) return refused(capability, ...compared);
  // A value has its own type in each row, which is looked at when it leaves.
  const { faults } = matchColumns(
    capability,
    columns,
    (name) => name,
    () => ({ ok: true, output: undefined }),
  );
  if (faults.length > 0) return { ok: false, faults };
  const definition: QueryDefinition = {
    text,
    allowFunctions,
    params: read.params.map(({ schema }) => schema.type),
    probes: valueProbes(capability.sql, select.body, read.params, probeDialect),
    fields: capability.result.map(({ name, type, nullable }) => ({ name, type, nullable })),
    limits: { maxRows: limits.maxRows, maxBytes: limits.maxBytes, onLimit: limits.onLimit },
  };
  return {
    ok: true,
    query: { capability: capability.name, params: read.params, definition },
    capability: notNegative(capability, countingParams(select.body)),
    whole: {
      filled,
      params: read.params.length,
      async keep() {
        const isMixed = await mayMixTypes(session, select);
        return (field) => keptColumn(columns, field, isMixed);
      },
      async prove(statement) {
        const run = statement.isOrdered || read.takesLimit ? limited(statement.text) : statement.text;
        const proven = await judge(session, capability, run);
        if (!proven.ok) return proven;
        return { ok: true, forms: { statement: statement.text, run }, mayDiffer: proven.mayDiffer };
      },
    },
  };
}

function keptColumn(
  columns: readonly SqliteColumn[],
  field: string,
  isMixed: boolean,
): KeptColumn | UnkeptColumn {
  const type = columns.find(({ name }) => name === field)?.type ?? '';
  if (/blob/i.test(type)) return { castTo: 'text' };
  // A plus keeps SQLite from converting what it compares the column with, but also from finding it by an index.
  return { type, column: `${isMixed ? '+' : ''}${QUERY_NAME}.${quoted(field)}`, value: (param) => [param] };
}

const SET_OPERATION = /\b(?:union|intersect|except|values)\b/i;

/**
 * Whether a column may have values that its declared type would have converted, as in a UNION of columns of two types: it
 * sorts them as they are, and compares them converted.
 */
async function mayMixTypes(session: EngineSession, { body, names }: OneSelect): Promise<boolean> {
  if (body.some(({ kind, text }) => kind === 'word' && SET_OPERATION.test(text))) return true;
  const views = await askRows<{ readonly name: string; readonly sql: string }>(
    session,
    "select name, sql from sqlite_schema where type = 'view'",
  );
  const read = new Set(names.map(({ name }) => name.toLowerCase()));
  return (
    views.some(({ name }) => read.has(name.toLowerCase())) && views.some(({ sql }) => SET_OPERATION.test(sql))
  );
}

export async function judge(
  session: EngineSession,
  capability: Capability,
  text: string,
): Promise<Extract<JudgeAnswer<SqliteColumn>, { ok: true }> | Refusal> {
  const { allowFunctions } = capability;
  const question: JudgeQuestion = { text, allowFunctions };
  const judged = await session.ask<JudgeAnswer<SqliteColumn>>(ASK.judge, question);
  if (judged.ok) return judged;
  const { problem: message, detail } = judged;
  return refused(capability, detail === undefined ? { message } : { message, detail });
}
