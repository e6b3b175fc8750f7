import type { Capability } from '../../../../capabilities/model.ts';
import type { VerificationFault } from '../../../driver/errors.ts';
import { atFilter, filtersOf, plainCapability } from '../../../clauses/compose.ts';
import { Marks } from '../../../clauses/parts.ts';
import { startOfMain } from '../../../clauses/statement-source.ts';
import type { Refusal } from '../plan-statement.ts';
import { namedObjects } from '../statement/named-objects.ts';
import { readStatement, refusedAsTooDeep } from '../statement/read-statement.ts';
import { scan } from '../statement/scan.ts';
import type { NamingStatement } from '../check-statement.ts';
import { clauseFaults } from './read-clauses.ts';

/** The statement with all filters, in which the place of each part is marked. */
export interface ReadAssembled extends NamingStatement {
  /** As if that were its only statement. */
  readonly plain: Capability;
  readonly marks: Marks;
}

/** All that can be known of the parts of a statement without a database. The parser must have been loaded. */
export function readAssembled(capability: Capability): ReadAssembled | Refusal {
  try {
    const faults = clauseFaults(capability);
    if (faults.length > 0) return { ok: false, faults };
    const marks = new Marks();
    const whole = plainCapability(capability, filtersOf(capability), marks);
    const hasOrders = (capability.clauses?.orders.length ?? 0) > 0;
    const plain = hasOrders ? { ...whole, sql: markMain(whole.sql, marks) } : whole;
    const result = readStatement(plain);
    if (!result.ok) return { ok: false, faults: faultsOfParts(capability, result.faults) };
    const { inspected, written } = result.read;
    return { ...result, named: namedObjects([inspected.tree, written?.inspected.tree]), plain, marks };
  } catch (error) {
    return refusedAsTooDeep(capability, error);
  }
}

function faultsOfParts(
  capability: Capability,
  faults: readonly VerificationFault[],
): readonly VerificationFault[] {
  if (!readStatement(plainCapability(capability, [])).ok) return faults;
  const ofFilters = filtersOf(capability).flatMap((param) => {
    const alone = readStatement(plainCapability(capability, [param]));
    return alone.ok ? [] : alone.faults.map((fault) => atFilter(capability, param, fault));
  });
  return ofFilters.length > 0 ? ofFilters : faults;
}

/** Marks where the SELECT begins after its WITH queries, which stand before all that is put around it. */
function markMain(sql: string, marks: Marks): string {
  const start = startOfMain(scan(sql).filter(({ kind }) => kind !== 'comment'));
  return start === undefined ? sql : insertAt(sql, start, marks.of('main'));
}

/** `offset` is in bytes of UTF-8. */
function insertAt(sql: string, offset: number, text: string): string {
  const bytes = Buffer.from(sql);
  return `${bytes.subarray(0, offset).toString()}${text}${bytes.subarray(offset).toString()}`;
}
