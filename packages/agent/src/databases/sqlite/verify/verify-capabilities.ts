import type { Capability } from '../../../capabilities/model.ts';
import type { Verification } from '../../driver.ts';
import type { VerificationFault } from '../../errors.ts';
import type { Pool } from '../../sessions/pool.ts';
import type { SqliteConfig } from '../config.ts';
import { withSession } from '../connect.ts';
import { unavailable } from '../connection/engine-errors.ts';
import type { SqliteSession } from '../connection/session.ts';
import type { PreparedQuery } from '../execute/prepared-query.ts';
import { faultAt, readStatement } from './read-statement.ts';

type CheckResult =
  | { readonly ok: true; readonly query: PreparedQuery }
  | { readonly ok: false; readonly faults: readonly VerificationFault[] };

/** Checks each capability on its own; throws `DatabaseError` when the database cannot be asked. */
export async function verifyCapabilities(
  pool: Pool<SqliteSession>,
  config: SqliteConfig,
  capabilities: readonly Capability[],
): Promise<Verification & { readonly prepared: readonly PreparedQuery[] }> {
  const prepared: PreparedQuery[] = [];
  const passed: Capability[] = [];
  const faults: VerificationFault[] = [];
  try {
    await withSession(pool, async (session) => {
      for (const capability of capabilities) {
        const result = await check(session, config, capability);
        if (result.ok) {
          prepared.push(result.query);
          passed.push(capability);
        } else {
          faults.push(...result.faults);
        }
      }
    });
  } catch (error) {
    throw unavailable(error);
  }
  return { prepared, capabilities: passed, faults };
}

async function check(
  session: SqliteSession,
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
  const judged = await session.judge({ text, allowFunctions });
  if (!judged.ok) {
    const { problem: message, detail } = judged;
    const fault = detail === undefined ? { message } : { message, detail };
    return { ok: false, faults: [faultAt(capability, fault)] };
  }
  const columns = judged.columns.map(({ name }) => name);
  const faults = [...twins(capability, columns), ...missing(capability, columns)];
  if (faults.length > 0) return { ok: false, faults };
  return {
    ok: true,
    query: {
      capability: capability.name,
      params: read.params,
      definition: {
        text,
        allowFunctions,
        params: read.params.map(({ schema }) => schema.type),
        fields: capability.result.map(({ name, type, nullable }) => ({ name, type, nullable })),
        limits: { maxRows: limits.maxRows, maxBytes: limits.maxBytes, onLimit: limits.onLimit },
      },
    },
  };
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
