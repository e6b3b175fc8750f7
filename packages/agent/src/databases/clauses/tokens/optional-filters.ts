import { mayBeAbsent } from '../../../capabilities/clauses.ts';
import type { Capability } from '../../../capabilities/model.ts';
import type { ClauseAdvice } from '../../driver/driver.ts';
import { closingAfter, findAtLevel, indexesOf, isOperator, isWord } from '../../sql/places/tokens.ts';
import type { SqlToken } from '../../sql/scanner.ts';
import { isConjunction, isReachable } from './clause-faults.ts';

/** Parameters with a condition as in `(:x is null or name = :x)`, where a filter could stand. */
export function optionalFilters(
  { name: capability, params }: Capability,
  body: readonly SqlToken[],
  weakOperators: readonly string[],
): readonly ClauseAdvice[] {
  return params
    .filter((param) => mayBeAbsent(param))
    .filter(({ name }) => {
      const indexes = indexesOf(body, name);
      return indexes.some((index) => {
        const opening = index - 1;
        const isAsked =
          isOperator(body[opening], '(') &&
          isWord(body[index + 1], /^is$/i) &&
          isWord(body[index + 2], /^null$/i) &&
          isWord(body[index + 3], /^or$/i);
        const isUsed = indexes.some((other) => other > index && other < closingAfter(body, opening));
        return isAsked && isUsed && isCondition(body, opening, weakOperators);
      });
    })
    .map(({ name }) => ({ kind: 'optional_filter', capability, param: name }));
}

/** Whether the parentheses are one of the conditions of a WHERE that AND joins. */
function isCondition(body: readonly SqlToken[], opening: number, weakOperators: readonly string[]): boolean {
  const before = body[opening - 1];
  if (!isWord(before, /^(?:where|and)$/i)) return false;
  const clause = findAtLevel(body, opening - 1, -1, (token) =>
    isWord(token, /^(?:where|having|on|select|between|when|qualify)$/i),
  );
  return (
    clause !== undefined &&
    isWord(body[clause], /^where$/i) &&
    isConjunction(body, clause + 1, weakOperators) &&
    isReachable(body, clause + 1)
  );
}
