import type { Capability } from '../../../capabilities/model.ts';
import type { Verification } from '../../driver/driver.ts';
import type { VerificationFault } from '../../driver/errors.ts';
import { faultAt } from '../../sql/fault-at.ts';
import { countingParams, notNegative } from '../../sql/row-counts.ts';
import type { EnginePool } from '../../engine-process/engine-database.ts';
import { ASK, type JudgeAnswer } from '../../engine-process/engine-questions.ts';
import type { EngineSession } from '../../engine-process/engine-session.ts';
import { verifyEach, type CheckResult } from '../../engine-process/verify-each.ts';
import type { SqliteConfig } from '../config/config.ts';
import type { JudgeQuestion, QueryDefinition, SqliteColumn } from '../engine/questions.ts';
import { valueProbes } from '../../sql/probes/value-probes.ts';
import { judgeComparisons } from './judge-comparisons.ts';
import { probeDialect } from './probe-dialect.ts';
import { readStatement } from './read-statement.ts';

/** Checks each capability on its own; throws `DatabaseError` when the database cannot be asked. */
export function verifyCapabilities(
  pool: EnginePool,
  config: SqliteConfig,
  capabilities: readonly Capability[],
): Promise<Verification> {
  return verifyEach(pool, capabilities, (session, capability) => check(session, config, capability));
}

async function check(
  session: EngineSession,
  config: SqliteConfig,
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
  const { limits, allowFunctions } = capability;
  // One row more than may leave tells whether there are more, and a sort need not keep the others.
  const text = read.takesLimit ? `${read.text}\nlimit ${limits.maxRows + 1}` : read.text;
  const judged = await judge(session, { text, allowFunctions });
  if (!judged.ok) {
    const { problem: message, detail } = judged;
    const fault = detail === undefined ? { message } : { message, detail };
    return { ok: false, faults: [faultAt(capability, fault)] };
  }
  const compared = await judgeComparisons(capability, read.select.body, async (probe) => {
    const answer = await judge(session, { text: probe, allowFunctions });
    return answer.ok ? (answer.columns[0]?.type ?? null) : undefined;
  });
  if (compared.length > 0) {
    return { ok: false, faults: compared.map(({ param, ...fault }) => faultAt(capability, fault, param)) };
  }
  const columns = judged.columns.map(({ name }) => name);
  const faults = [...twins(capability, columns), ...missing(capability, columns)];
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

/** What the process says of a statement. */
export function judge(session: EngineSession, question: JudgeQuestion): Promise<JudgeAnswer<SqliteColumn>> {
  return session.ask(ASK.judge, question);
}

function twins(capability: Capability, columns: readonly string[]): readonly VerificationFault[] {
  const declared = new Set(capability.result.map(({ name }) => name));
  const repeated = columns.filter((name, index) => columns.indexOf(name) < index);
  return [...new Set(repeated)].map((name) => {
    const which = declared.has(name) ? `named ${name}` : 'of one name';
    const message = `yields two columns ${which}: rename one with AS`;
    return faultAt(capability, { message, detail: `column ${name}` });
  });
}

function missing({ name, result }: Capability, columns: readonly string[]): readonly VerificationFault[] {
  return result
    .filter((field) => !columns.includes(field.name))
    .map((field) => ({
      path: `capabilities.${name}.result.${field.name}`,
      position: field.position,
      message: 'is not a column of the SQL: name one so with AS, or remove the field',
      detail: `columns: ${columns.join(', ')}`,
    }));
}
