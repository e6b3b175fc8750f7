import type { Capability } from '../../capabilities/model.ts';
import type { Verification } from '../driver/driver.ts';
import { DatabaseError } from '../driver/errors.ts';
import { checkAssembled, type CheckedWhole, type ClauseDialect } from '../clauses/tokens/check-assembled.ts';
import { refused, verificationOf, type CheckResult, type ReadResult, type Refusal } from '../sql/fault-at.ts';
import { unavailable, withSession, type EnginePool } from './engine-database.ts';
import type { EngineQuery } from './engine-queries.ts';
import type { EngineSession } from './engine-session.ts';
import type { FileConfig } from './file-config.ts';

interface StatementOfCaller {
  /** The parameters that name the caller and that the capability does not declare. */
  readonly callerParams: readonly string[];
}

/** What checks the statements of an engine. */
export interface EngineVerifier<Read extends StatementOfCaller> {
  readonly dialect: ClauseDialect;
  readonly readStatement: (capability: Capability) => ReadResult<Read>;
  readonly check: (
    session: EngineSession,
    capability: Capability,
    read: Read,
  ) => Promise<CheckedWhole<EngineQuery> | Refusal>;
}

/** Checks each capability on its own; throws `DatabaseError` when the database cannot be asked. */
export async function verifyEach<Read extends StatementOfCaller>(
  pool: EnginePool,
  { hasCallerVariables }: FileConfig,
  capabilities: readonly Capability[],
  { dialect, readStatement, check }: EngineVerifier<Read>,
): Promise<Verification> {
  const checkPlain = async (
    session: EngineSession,
    capability: Capability,
  ): Promise<CheckedWhole<EngineQuery> | Refusal> => {
    const result = readStatement(capability);
    if (!result.ok) return result;
    const [untold] = hasCallerVariables ? [] : result.read.callerParams;
    if (untold === undefined) return check(session, capability, result.read);
    const message = `uses :${untold}, which the database is not told: set its caller_variables to true`;
    return refused(capability, { message });
  };
  const results: CheckResult<EngineQuery>[] = [];
  for (const capability of capabilities) {
    results.push(
      await alone(pool, capability, async (session): Promise<CheckResult<EngineQuery>> => {
        if (capability.clauses === undefined) return checkPlain(session, capability);
        const checked = await checkAssembled(capability, dialect, (plain) => checkPlain(session, plain));
        if (!checked.ok) return checked;
        const { assembled, query } = checked;
        return { ok: true, query: { ...query, assembled }, capability: checked.capability };
      }),
    );
  }
  return verificationOf(results);
}

/** If a statement ends its process, only that statement is at fault. */
async function alone(
  pool: EnginePool,
  capability: Capability,
  check: (session: EngineSession) => Promise<CheckResult<EngineQuery>>,
): Promise<CheckResult<EngineQuery>> {
  try {
    return await withSession(pool, check);
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.kind === 'unavailable') throw unavailable(error);
    const message =
      'takes more time or memory to prepare than is allowed: raise memory of its database, or rewrite the SQL';
    return refused(capability, { message, detail: error.message });
  }
}
