import { closingAfter, isName, isOperator, isWord, openingBefore } from '../../../sql/places/tokens.ts';
import type { WrittenName } from '../../../sql/one-select.ts';
import type { SqlToken } from '../../../sql/scanner.ts';

const JOINS = /^(?:from|join|straight_join)$/i;
/** What ends a FROM clause. */
const AFTER_FROM = /^(?:where|group|having|window|order|limit|union|except|intersect|select)$/i;

/** The tables that a statement reads, as it names them, but not the names that WITH gives to queries. */
export function namedTables(body: readonly SqlToken[]): readonly WrittenName[] {
  const queries = new Set(body.flatMap((_, index) => queryNamedAt(body, index) ?? []));
  return body.flatMap((token, index): readonly WrittenName[] => {
    if (!isName(token) || !standsForTable(body, index)) return [];
    const [dot, name] = [body[index + 1], body[index + 2]];
    if (isOperator(dot, '.') && isName(name)) return [{ schema: token.text, name: name.text }];
    return queries.has(token.text.toLowerCase()) ? [] : [{ schema: undefined, name: token.text }];
  });
}

/** The name in `name as (` or `name (a, b) as (`, in lower case. */
function queryNamedAt(body: readonly SqlToken[], index: number): string | undefined {
  const token = body[index];
  if (!isName(token)) return undefined;
  const after = isOperator(body[index + 1], '(') ? closingAfter(body, index + 1) + 1 : index + 1;
  if (!isWord(body[after], /^as$/i) || !isOperator(body[after + 1], '(')) return undefined;
  return token.text.toLowerCase();
}

function standsForTable(body: readonly SqlToken[], index: number): boolean {
  let before = index - 1;
  while (isOperator(body[before], '(')) before -= 1;
  if (isWord(body[before], JOINS)) return isOfSelect(body, before);
  return isOperator(body[before], ',') && isInFrom(body, before);
}

/** Whether a FROM stands in a SELECT, and not in a function as in `extract(year from x)`. */
function isOfSelect(body: readonly SqlToken[], at: number): boolean {
  if (!isWord(body[at], /^from$/i)) return true;
  const opening = openingBefore(body, at);
  let first = opening + 1;
  while (isOperator(body[first], '(')) first += 1;
  return opening < 0 || isWord(body[first], /^(?:select|with)$/i);
}

function isInFrom(body: readonly SqlToken[], comma: number): boolean {
  let depth = 0;
  for (let index = comma - 1; index >= 0; index -= 1) {
    const token = body[index];
    if (isOperator(token, ')')) depth += 1;
    if (isOperator(token, '(')) depth -= 1;
    // Tables may be in parentheses, as in `from (a, b)`.
    if (depth < 0 && !isWord(body[index - 1], JOINS)) return false;
    if (depth > 0) continue;
    if (isWord(token, /^from$/i)) return isOfSelect(body, index);
    if (isWord(token, AFTER_FROM)) return false;
  }
  return false;
}
