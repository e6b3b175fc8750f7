import type { Capability } from '../../../capabilities/model.ts';
import type { Fault } from '../../../capabilities/fault.ts';
import type { Verifier } from '../../driver/driver.ts';
import { constantKeyWarnings } from '../../sql/constant-keys.ts';
import type { ReadResult } from '../../sql/fault-at.ts';
import type { OneSelect } from '../../sql/one-select.ts';
import { rowCountWarnings } from '../../sql/row-counts.ts';
import type { SqlToken } from '../../sql/scanner.ts';
import { plainCapabilities, unordered } from '../compose.ts';
import type { ClauseLanguage } from './clause-faults.ts';
import { nullableSorts } from '../nullable-sorts.ts';
import { readFaults } from './marked-capability.ts';
import { optionalFilters } from './optional-filters.ts';
import type { OrderLanguage } from './page-orders.ts';

type ReadStatement<Read> = (capability: Capability) => ReadResult<Read>;

/** `more` gives the driver's own warnings of a statement. */
export function statementVerifier<Read>(
  readStatement: ReadStatement<Read>,
  bodyOf: (read: Read) => readonly SqlToken[],
  language: ClauseLanguage & Pick<OrderLanguage, 'nullsFirst' | 'hasOrderedIndexes'>,
  more: (capability: Capability, body: readonly SqlToken[]) => readonly Fault[] = () => [],
): Pick<Verifier, 'readStatements' | 'findWarnings'> & Required<Pick<Verifier, 'findClauseAdvice'>> {
  const bodyIn = (capability: Capability): readonly SqlToken[] => {
    const result = readStatement(capability);
    return result.ok ? bodyOf(result.read) : [];
  };
  return {
    readStatements: async (capabilities) =>
      capabilities.flatMap((capability) => {
        if (capability.clauses !== undefined) return readFaults(capability, language, readStatement);
        const result = readStatement(capability);
        return result.ok ? [] : result.faults;
      }),
    findClauseAdvice: async (capabilities) => [
      ...plainCapabilities(capabilities).flatMap((capability) =>
        optionalFilters(capability, bodyIn(capability), language.weakOperators),
      ),
      ...(language.hasOrderedIndexes ? nullableSorts(capabilities, (term) => language.nullsFirst(term)) : []),
    ],
    async findWarnings(capabilities) {
      const plain = plainCapabilities(capabilities);
      return [
        ...rowCountWarnings(plain, bodyIn),
        ...plain.flatMap((capability) => more(capability, bodyIn(capability))),
        ...constantKeyWarnings(plain, bodyIn),
      ];
    },
  };
}

/** Guesses, without the keys of tables, which capabilities may give several rows in no certain order. */
export function unorderedStatements(
  capabilities: readonly Capability[],
  readStatement: ReadStatement<{ readonly select: OneSelect }>,
): readonly string[] {
  return unordered(capabilities).flatMap((capability) => {
    const result = readStatement(capability);
    if (!result.ok || result.read.select.isOrdered || capability.limits.maxRows === 1) return [];
    const reads = result.read.select.body.some(({ kind, text }) => kind === 'word' && /^from$/i.test(text));
    return reads ? [capability.name] : [];
  });
}
