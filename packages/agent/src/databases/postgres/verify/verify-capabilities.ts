import { loadModule } from 'libpg-query';
import type { Capability } from '../../../capabilities/model.ts';
import type { Verification } from '../../driver/driver.ts';
import { DatabaseError } from '../../driver/errors.ts';
import { DependencyCatalog } from './functions/dependency-catalog.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { refusedByDatabase, type Refusal } from './plan-statement.ts';
import { verificationOf, type CheckResult } from '../../sql/fault-at.ts';
import { namedObjects } from './statement/named-objects.ts';
import { readStatement, refusedAsTooDeep } from './statement/read-statement.ts';
import type { PreparedQuery } from '../execute/prepared-query.ts';
import { BlindCatalog } from './blind/blind-catalog.ts';
import { withGrants } from './grants/missing-grants.ts';
import type { TypeCatalog } from './types/server-types.ts';
import { checkAssembled } from './clauses/check-assembled.ts';
import { readAssembled, type ReadAssembled } from './clauses/read-assembled.ts';
import {
  checkTyped,
  typeStatement,
  withOthers,
  type Known,
  type NamingStatement,
} from './check-statement.ts';

/** How many capabilities' statements are read, and what they name is asked for, together. */
const SLICE = 256;
/** How many capabilities are checked at once: enough to hide the round trips, few enough not to load the database. */
const WORKERS = 4;

/** Checks each capability on its own; throws `DatabaseError` when the database cannot be asked. */
export async function verifyCapabilities(
  pool: SessionPool,
  capabilities: readonly Capability[],
  transactions: 'shared' | 'own' = 'shared',
): Promise<Verification<PreparedQuery>> {
  await loadModule();
  const types: TypeCatalog = new Map();
  const dependencies = new DependencyCatalog(pool);
  const blind = transactions === 'shared' ? new BlindCatalog(pool, dependencies) : undefined;
  const results: CheckResult<PreparedQuery>[] = [];
  for (let start = 0; start < capabilities.length; start += SLICE) {
    const slice = capabilities.slice(start, start + SLICE);
    const statements = slice.map(readCapability);
    try {
      const named = statements.flatMap((result) => (result.ok ? withOthers(result.named) : []));
      await dependencies.learn(named);
      await blind?.learn(named);
    } catch (error) {
      for (const capability of slice) {
        results.push(await withGrants(pool, refusedByDatabase(capability, error), {}));
      }
      continue;
    }
    const rest = slice.entries();
    const work = async (): Promise<void> => {
      for (const [index, capability] of rest) {
        const result = statements[index];
        if (result?.ok !== true) {
          results[start + index] = { ok: false, faults: result?.faults ?? [] };
          continue;
        }
        const checked = await check(pool, capability, result, { types, dependencies, blind }).catch(
          (error: unknown) =>
            error instanceof DatabaseError
              ? refusedByDatabase(capability, error)
              : refusedAsTooDeep(capability, error),
        );
        results[start + index] = checked.ok
          ? checked
          : await withGrants(pool, checked, result.read.inspected.tree);
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, work));
  }
  return verificationOf(results);
}

function readCapability(capability: Capability): NamingStatement | ReadAssembled | Refusal {
  if (capability.clauses !== undefined) return readAssembled(capability);
  try {
    const result = readStatement(capability);
    if (!result.ok) return result;
    const { inspected, written } = result.read;
    return { ...result, named: namedObjects([inspected.tree, written?.inspected.tree]) };
  } catch (error) {
    return refusedAsTooDeep(capability, error);
  }
}

async function check(
  pool: SessionPool,
  capability: Capability,
  statement: NamingStatement | ReadAssembled,
  known: Known,
): Promise<CheckResult<PreparedQuery>> {
  if ('plain' in statement) return checkAssembled(pool, capability, statement, known);
  const typed = await typeStatement(pool, capability, statement, known);
  return typed.ok ? checkTyped(pool, capability, typed, known) : typed;
}
