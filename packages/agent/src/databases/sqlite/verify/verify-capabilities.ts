import type { Capability } from '../../../capabilities/model.ts';
import type { Verification } from '../../driver/driver.ts';
import { refused, type CheckResult, type Refusal } from '../../sql/fault-at.ts';
import { matchColumns } from '../../sql/verify/match-columns.ts';
import { countingParams, notNegative } from '../../sql/row-counts.ts';
import type { EnginePool } from '../../engine-process/engine-database.ts';
import { ASK, type JudgeAnswer } from '../../engine-process/engine-questions.ts';
import type { EngineSession } from '../../engine-process/engine-session.ts';
import type { EngineQuery } from '../../engine-process/engine-queries.ts';
import type { FileConfig } from '../../engine-process/file-config.ts';
import { verifyEach } from '../../engine-process/verify-each.ts';
import type { JudgeQuestion, QueryDefinition, SqliteColumn } from '../engine/questions.ts';
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
  return verifyEach(pool, config, capabilities, readStatement, check);
}

async function check(
  session: EngineSession,
  capability: Capability,
  read: ReadStatement,
): Promise<CheckResult<EngineQuery>> {
  const { limits, allowFunctions } = capability;
  // One row more than may leave tells whether there are more, and lets a sort drop the others.
  const text = read.takesLimit ? `${read.text}\nlimit ${limits.maxRows + 1}` : read.text;
  const judged = await judge(session, capability, text);
  if (!judged.ok) return judged;
  const compared = await judgeComparisons(capability, read.select.body, async (probe) => {
    const answer = await judge(session, capability, probe);
    return answer.ok ? (answer.columns[0]?.type ?? null) : undefined;
  });
  if (compared.length > 0) return refused(capability, ...compared);
  // A value has its own type in each row, which is looked at when it leaves.
  const { faults } = matchColumns(
    capability,
    judged.columns,
    (name) => name,
    () => ({ ok: true, output: undefined }),
  );
  if (faults.length > 0) return { ok: false, faults };
  const definition: QueryDefinition = {
    text,
    allowFunctions,
    params: read.params.map(({ schema }) => schema.type),
    probes: valueProbes(capability.sql, read.select.body, read.params, probeDialect),
    fields: capability.result.map(({ name, type, nullable }) => ({ name, type, nullable })),
    limits: { maxRows: limits.maxRows, maxBytes: limits.maxBytes, onLimit: limits.onLimit },
  };
  return {
    ok: true,
    query: { capability: capability.name, params: read.params, definition },
    capability: notNegative(capability, countingParams(read.select.body)),
  };
}

export async function judge(
  session: EngineSession,
  capability: Capability,
  text: string,
): Promise<{ readonly ok: true; readonly columns: readonly SqliteColumn[] } | Refusal> {
  const { allowFunctions } = capability;
  const question: JudgeQuestion = { text, allowFunctions };
  const judged = await session.ask<JudgeAnswer<SqliteColumn>>(ASK.judge, question);
  if (judged.ok) return judged;
  const { problem: message, detail } = judged;
  return refused(capability, detail === undefined ? { message } : { message, detail });
}
