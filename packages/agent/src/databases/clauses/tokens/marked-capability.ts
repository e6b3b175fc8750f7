import type { Capability } from '../../../capabilities/model.ts';
import type { VerificationFault } from '../../driver/errors.ts';
import type { ReadResult } from '../../sql/fault-at.ts';
import { bodyOf } from '../../sql/one-select.ts';
import { scanSql, type Lexicon } from '../../sql/scanner.ts';
import { atFilter, filtersOf, plainCapability } from '../compose.ts';
import { Marks } from '../parts.ts';
import { startOfMain } from '../statement-source.ts';
import { clauseFaults, type ClauseLanguage } from './clause-faults.ts';

/** As if the statement with all filters were the only one, with the place of each part marked. */
export function markedCapability(
  capability: Capability,
  lexicon: Lexicon,
): { readonly plain: Capability; readonly marks: Marks } {
  const marks = new Marks();
  const plain = plainCapability(capability, filtersOf(capability), marks);
  const { sql } = plain;
  const scanned = scanSql(sql, lexicon);
  if ((capability.clauses?.orders.length ?? 0) === 0 || !scanned.ok) return { plain, marks };
  const start = startOfMain(
    bodyOf(scanned.tokens).map((token) => (token.kind === 'name' ? { ...token, text: '' } : token)),
  );
  if (start === undefined) return { plain, marks };
  return { plain: { ...plain, sql: sql.slice(0, start) + marks.of('main') + sql.slice(start) }, marks };
}

/** The faults of a capability with clauses that need no database to be seen. */
export function readFaults(
  capability: Capability,
  language: ClauseLanguage,
  readStatement: (plain: Capability) => ReadResult<unknown>,
): readonly VerificationFault[] {
  const faults = clauseFaults(capability, language);
  if (faults.length > 0) return faults;
  const faultsOf = (plain: Capability): readonly VerificationFault[] => {
    const result = readStatement(plain);
    return result.ok ? [] : result.faults;
  };
  const whole = faultsOf(plainCapability(capability));
  if (whole.length === 0 || faultsOf(plainCapability(capability, [])).length > 0) return whole;
  const ofFilters = filtersOf(capability).flatMap((param) =>
    faultsOf(plainCapability(capability, [param])).map((fault) => atFilter(capability, param, fault)),
  );
  return ofFilters.length > 0 ? ofFilters : whole;
}
