import { PLACE_OF_FILTERS, sqlParams } from '../../../capabilities/clauses.ts';
import type { Capability, Param } from '../../../capabilities/model.ts';
import type { VerificationFault } from '../../driver/errors.ts';
import { faultAt } from '../../sql/fault-at.ts';
import { namesOfParameters } from '../../sql/named-parameters.ts';
import { bodyOf } from '../../sql/one-select.ts';
import { rowCounts } from '../../sql/places/row-counts.ts';
import { closingAfter, findAtLevel, isOperator, isWord, openingBefore } from '../../sql/places/tokens.ts';
import { scanSql, type Lexicon, type SqlToken } from '../../sql/scanner.ts';
import { filterFault, MAY_DIFFER } from '../compose.ts';

export interface ClauseLanguage {
  readonly lexicon: Lexicon;
  /** Operators that bind no more strongly than AND. */
  readonly weakOperators: readonly string[];
  /** Functions whose answer may differ for the same arguments, lower case. */
  readonly changing: ReadonlySet<string>;
}

const ONE_CONDITION = 'must be one condition';
/** Stands in the place of the filters where only the statement around them is read. */
const STAND_IN = 'svc_filters_stand_here';
/** Words that are no part of a condition outside of its parentheses. */
const CLAUSE =
  /^(?:select|from|where|group|having|order|limit|offset|fetch|union|intersect|except|minus|window|qualify|for|lock|into|procedure|join|on|using|as|with|values|returning|natural|cross|inner|straight_join|asc|desc|sample|tablesample)$/i;
const AFTER_WHERE =
  /^(?:select|group|having|order|limit|offset|fetch|union|intersect|except|minus|window|qualify|for|lock|into|procedure|using|sample|tablesample)$/i;
/** Of those, the words that every database reserves: any other may be a column. */
const END_OF_WHERE = /^(?:group|having|order|limit)$/i;
const WEAK_WORDS = /^(?:or|xor)$/i;
const SET_OPERATIONS = /^(?:union|intersect|except|minus)$/i;
const FROM_OR_JOIN = /^(?:from|join|straight_join)$/i;
const CLAUSE_OF_LIST = /^(?:select|from|where|group|having|order|limit|values|window|qualify|by)$/i;

/** What is wrong with the filters of a capability and their place, as far as tokens tell: its database judges the rest. */
export function clauseFaults(capability: Capability, language: ClauseLanguage): readonly VerificationFault[] {
  const filtered = capability.params.filter(({ filter }) => filter !== undefined);
  const faults = filtered.flatMap((param) => {
    const message = problemOfFilter(param, capability, language);
    return message === undefined ? [] : [filterFault(capability, param, { message })];
  });
  const message = problemOfStatement(capability, filtered.length > 0, language);
  return message === undefined ? faults : [...faults, faultAt(capability, { message })];
}

/** In parentheses, what is not refused here can only be one expression. */
function problemOfFilter(
  { name, filter }: Param,
  capability: Capability,
  { lexicon, changing }: ClauseLanguage,
): string | undefined {
  const scanned = scanSql(filter?.sql ?? '', lexicon);
  if (!scanned.ok) return `${ONE_CONDITION}: it ${scanned.problem}`;
  const { tokens } = scanned;
  const brackets: string[] = [];
  for (const [index, token] of tokens.entries()) {
    const { kind, text } = token;
    if (kind === 'comment') return `${ONE_CONDITION}: remove the comment`;
    if (isOperator(token, ';', '{', '}')) return `${ONE_CONDITION}: remove ${text}`;
    if (isOperator(token, '(', '[')) brackets.push(text === '(' ? ')' : ']');
    else if (isOperator(token, ')', ']') && brackets.pop() !== text)
      return `${ONE_CONDITION}: it closes a bracket that it has not opened`;
    if (
      isWord(token, /^tablesample$/i) ||
      (isWord(token, /^sample$/i) && isWord(tokens[index - 1], /^using$/i))
    )
      return `reads a sample, which ${MAY_DIFFER}`;
    if (brackets.length > 0) continue;
    if (isOperator(token, ',')) return `${ONE_CONDITION}: it has a comma outside of parentheses`;
    if (isWord(token, CLAUSE) && !isOperator(tokens[index - 1], '.') && !isDistinctFrom(tokens, index))
      return `${ONE_CONDITION}: it has ${text} outside of parentheses`;
  }
  if (brackets.length > 0) return `${ONE_CONDITION}: it does not close a bracket`;
  const used = namesOfParameters(tokens);
  const declared = sqlParams(capability);
  const unknown = used.find((each) => !declared.some((param) => param.name === each));
  if (unknown !== undefined) return `uses :${unknown}, which is not declared: add it to params`;
  if (!used.includes(name)) return `${ONE_CONDITION} that uses :${name}`;
  const called = tokens.find(
    ({ kind, text }, at) =>
      (kind === 'word' || kind === 'name') &&
      isOperator(tokens[at + 1], '(') &&
      changing.has(text.toLowerCase()),
  );
  return called && `calls ${called.text}, which ${MAY_DIFFER}`;
}

function isDistinctFrom(tokens: readonly SqlToken[], at: number): boolean {
  return isWord(tokens[at], /^from$/i) && isWord(tokens[at - 1], /^distinct$/i);
}

function problemOfStatement(
  { sql, clauses }: Capability,
  hasFilters: boolean,
  { lexicon, weakOperators }: ClauseLanguage,
): string | undefined {
  const at = sql.indexOf(PLACE_OF_FILTERS);
  const text = at < 0 ? sql : `${sql.slice(0, at)} ${STAND_IN} ${sql.slice(at + PLACE_OF_FILTERS.length)}`;
  const scanned = scanSql(text, lexicon);
  // What is wrong with the SQL itself is told where the whole statement is read.
  if (!scanned.ok) return undefined;
  const body = bodyOf(scanned.tokens);
  const place = body.findIndex(({ start, kind }) => start === at + 1 && kind === 'word');
  if (hasFilters && (place < 0 || !isWhole(body, place, weakOperators) || !isReachable(body, place)))
    return `must have ${PLACE_OF_FILTERS} directly after \`where\`, with only \`and\` after it, in the outermost SELECT or in one in its FROM or WITH`;
  const outermost = outermostClause(body);
  if ((clauses?.orders.length ?? 0) > 0 && outermost !== undefined)
    return `has an outermost ${outermost} beside \`sort\` or \`paging\`, which order and cut the rows: remove it`;
  return undefined;
}

/** Whether the place is the condition of a WHERE, or the first of those joined by AND. */
function isWhole(body: readonly SqlToken[], place: number, weakOperators: readonly string[]): boolean {
  if (!isWord(body[place - 1], /^where$/i) || isOperator(body[place - 2], '.')) return false;
  const next = body[place + 1];
  if (next === undefined || isOperator(next, ')') || isWord(next, AFTER_WHERE)) return true;
  return isWord(next, /^and$/i) && isConjunction(body, place + 2, weakOperators);
}

/** Whether AND joins all the conditions of a WHERE from that index on. */
export function isConjunction(
  body: readonly SqlToken[],
  start: number,
  weakOperators: readonly string[],
): boolean {
  const isWeak = (index: number): boolean =>
    isWord(body[index], WEAK_WORDS) || weakOperators.some((operator) => isWrittenAt(body, index, operator));
  const end = findAtLevel(
    body,
    start,
    1,
    (token, index) => isWeak(index) || (isWord(token, END_OF_WHERE) && !isOperator(body[index - 1], '.')),
  );
  return end === undefined || !isWeak(end);
}

function isWrittenAt(body: readonly SqlToken[], at: number, operator: string): boolean {
  return operator.split('').every((character, index) => {
    const [before, token] = [body[at + index - 1], body[at + index]];
    return isOperator(token, character) && (index === 0 || before?.end === token?.start);
  });
}

/** Whether the SELECT of the place is the outermost one, or a source of rows, which sees no other query. */
export function isReachable(body: readonly SqlToken[], place: number): boolean {
  let at = place;
  let isInWith = false;
  for (;;) {
    const opening = openingBefore(body, at);
    const operation = findAtLevel(body, opening + 1, 1, (token) => isWord(token, SET_OPERATIONS));
    // The SELECT that has the WITH may be one of several.
    if (operation !== undefined && !isInWith) return false;
    if (opening < 0) return true;
    isInWith = isCommonTable(body, opening);
    if (!isOperator(body[opening], '(') || !(isInWith || isSource(body, opening))) return false;
    at = opening;
  }
}

/** `name as (`, `name as materialized (` */
function isCommonTable(body: readonly SqlToken[], opening: number): boolean {
  let at = opening - 1;
  if (isWord(body[at], /^materialized$/i)) at -= 1;
  if (isWord(body[at], /^not$/i)) at -= 1;
  return isWord(body[at], /^as$/i);
}

function isSource(body: readonly SqlToken[], opening: number): boolean {
  const before = body[opening - 1];
  // Parentheses around parentheses, or around all.
  if (before === undefined || isOperator(before, '(')) return true;
  if (isOperator(before, ',')) {
    const clause = findAtLevel(
      body,
      opening - 2,
      -1,
      (token, at) => isWord(token, CLAUSE_OF_LIST) && !isDistinctFrom(body, at),
    );
    return clause !== undefined && isWord(body[clause], /^from$/i) && isOfSelect(body, clause);
  }
  if (!isWord(before, FROM_OR_JOIN) || isDistinctFrom(body, opening - 1)) return false;
  return !isWord(before, /^from$/i) || isOfSelect(body, opening - 1);
}

/** Not the FROM of `extract(year from x)`. */
function isOfSelect(body: readonly SqlToken[], from: number): boolean {
  const before = body[from - 1];
  if (before === undefined || isOperator(before, '(', ')')) return true;
  return findAtLevel(body, from - 1, -1, (token) => isWord(token, /^select$/i)) !== undefined;
}

function outermostClause(body: readonly SqlToken[]): string | undefined {
  let inner = body;
  while (isOperator(inner[0], '(') && closingAfter(inner, 0) === inner.length - 1) inner = inner.slice(1, -1);
  const order = findAtLevel(
    inner,
    0,
    1,
    (token, at) => isWord(token, /^order$/i) && isWord(inner[at + 1], /^by$/i),
  );
  if (order !== undefined) return 'ORDER BY';
  const count = rowCounts(inner).find(({ start }) => openingBefore(inner, start) < 0);
  return count?.of.toUpperCase();
}
