import type { Capability } from '../../capabilities/model.ts';
import type { Verification } from '../driver/driver.ts';
import { DatabaseError, type VerificationFault } from '../driver/errors.ts';
import { unavailable, withSession, type EnginePool } from './engine-database.ts';
import type { EngineQuery } from './engine-queries.ts';
import type { EngineSession } from './engine-session.ts';

export type CheckResult =
  /** The capability as it came, or narrowed to what its places take. */
  | { readonly ok: true; readonly query: EngineQuery; readonly capability: Capability }
  | { readonly ok: false; readonly faults: readonly VerificationFault[] };

/** Checks each capability on its own; throws `DatabaseError` when the database cannot be asked. */
export async function verifyEach(
  pool: EnginePool,
  capabilities: readonly Capability[],
  check: (session: EngineSession, capability: Capability) => Promise<CheckResult>,
): Promise<Verification> {
  const prepared: EngineQuery[] = [];
  const passed: Capability[] = [];
  const faults: VerificationFault[] = [];
  for (const capability of capabilities) {
    const result = await checkAlone(pool, capability, check);
    if (result.ok) {
      prepared.push(result.query);
      passed.push(result.capability);
    } else {
      faults.push(...result.faults);
    }
  }
  return { prepared, capabilities: passed, faults };
}

/** A statement that its process does not survive is the only one at fault. */
async function checkAlone(
  pool: EnginePool,
  capability: Capability,
  check: (session: EngineSession, capability: Capability) => Promise<CheckResult>,
): Promise<CheckResult> {
  try {
    return await withSession(pool, (session) => check(session, capability));
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.kind === 'unavailable') throw unavailable(error);
    const message =
      'takes more time or memory to be prepared than it may: raise memory of its database, or rewrite it';
    const { name, sqlPosition: position } = capability;
    return {
      ok: false,
      faults: [{ path: `capabilities.${name}.sql`, position, message, detail: error.message }],
    };
  }
}
