import type { Capability } from '../../../../capabilities/model.ts';
import type { VerificationFault } from '../../../driver/errors.ts';
import { atFilter, filtersOf, plainCapability } from '../../../clauses/compose.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { checkTyped, typeStatement, type Known } from '../check-statement.ts';
import { namedObjects } from '../statement/named-objects.ts';
import { readStatement } from '../statement/read-statement.ts';

/** Names the filters without which the statement would have no fault; else the faults as they are. */
export async function faultsOfFilters(
  pool: SessionPool,
  capability: Capability,
  known: Known,
  faults: readonly VerificationFault[],
): Promise<readonly VerificationFault[]> {
  const filters = filtersOf(capability);
  const faultsWith = async (chosen: typeof filters): Promise<readonly VerificationFault[]> => {
    const plain = plainCapability(capability, chosen);
    const read = readStatement(plain);
    if (!read.ok) return read.faults;
    const statement = { ...read, named: namedObjects([read.read.inspected.tree]) };
    const typed = await typeStatement(pool, plain, statement, known);
    if (!typed.ok) return typed.faults;
    const checked = await checkTyped(pool, plain, typed, known);
    return checked.ok ? [] : checked.faults;
  };
  if ((await faultsWith([])).length > 0) return faults;
  const ofFilters: VerificationFault[] = [];
  for (const param of filters) {
    for (const fault of await faultsWith([param])) ofFilters.push(atFilter(capability, param, fault));
  }
  return ofFilters.length > 0 ? ofFilters : faults;
}
