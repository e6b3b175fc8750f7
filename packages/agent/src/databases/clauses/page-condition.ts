import type { Part } from './parts.ts';

/** A term of an order, in the SQL of an engine. */
export interface PageTerm {
  readonly column: string;
  readonly isDescending: boolean;
  readonly nullsFirst: boolean;
  readonly mayBeNull: boolean;
  /** The value of the cursor: a parameter, cast to the type of the column. */
  readonly value: readonly Part[];
}

export interface PageDialect {
  readonly below: string;
  readonly above: string;
  readonly atMost: string;
  readonly atLeast: string;
  readonly equals: string;
  /** Whether it compares rows of values by an index. */
  readonly hasRowValues: boolean;
  /** What stands before the values of a row in parentheses. */
  readonly row: string;
}

/**
 * The condition for the rows that come after a row with the values of a cursor; `nulls` says which of those are null. A
 * comparison of the whole row where all terms go one way and none may be null; else bounds, nested term by term.
 */
function pageCondition(
  terms: readonly PageTerm[],
  nulls: readonly boolean[],
  dialect: PageDialect,
): readonly Part[] {
  const [first] = terms;
  if (first === undefined) return [];
  const isOneWay = terms.every(
    ({ isDescending, mayBeNull }) => isDescending === first.isDescending && !mayBeNull,
  );
  if (dialect.hasRowValues && isOneWay) {
    const columns = terms.map(({ column }) => column).join(', ');
    const values = terms.flatMap(({ value }, at) => (at === 0 ? value : [', ', ...value]));
    if (terms.length === 1) return [`${columns} ${beyond(first, dialect)} `, ...values];
    return [`${dialect.row}(${columns}) ${beyond(first, dialect)} ${dialect.row}(`, ...values, ')'];
  }
  return after(terms, nulls, dialect);
}

/** Where no other operator can take their place. */
export const PLAIN_OPERATORS: Omit<PageDialect, 'hasRowValues'> = {
  below: '<',
  above: '>',
  atMost: '<=',
  atLeast: '>=',
  equals: '=',
  row: '',
};

/** By which values of the cursor are null, one character for each term: `n` for null, `v` for a value. */
export function pageConditions(
  terms: readonly PageTerm[],
  dialect: PageDialect,
): Readonly<Record<string, readonly Part[]>> {
  const masks = terms.reduce<readonly string[]>(
    (before, { mayBeNull }) =>
      before.flatMap((mask) => (mayBeNull ? [`${mask}v`, `${mask}n`] : [`${mask}v`])),
    [''],
  );
  const nullsOf = (mask: string): readonly boolean[] => mask.split('').map((each) => each === 'n');
  return Object.fromEntries(masks.map((mask) => [mask, pageCondition(terms, nullsOf(mask), dialect)]));
}

function beyond({ isDescending }: PageTerm, { below, above }: PageDialect): string {
  return isDescending ? below : above;
}

function after(
  [term, ...rest]: readonly PageTerm[],
  [isNull = false, ...others]: readonly boolean[],
  dialect: PageDialect,
): readonly Part[] {
  if (term === undefined) return ['false'];
  const { column, value, nullsFirst, mayBeNull } = term;
  const later = rest.length === 0 ? undefined : after(rest, others, dialect);
  if (isNull) {
    const equal = later === undefined ? [] : [`(${column} is null and `, ...later, ')'];
    if (!nullsFirst) return later === undefined ? ['false'] : equal;
    return later === undefined ? [`${column} is not null`] : [`(${column} is not null or `, ...equal, ')'];
  }
  const strict = [`${column} ${beyond(term, dialect)} `, ...value];
  const nullsAfter = mayBeNull && !nullsFirst ? [` or ${column} is null`] : [];
  if (later === undefined) return ['(', ...strict, ...nullsAfter, ')'];
  const equal = [`(${column} ${dialect.equals} `, ...value, ' and ', ...later, ')'];
  // The bound is what an index can be read from: an OR alone is none.
  const bound = nullsAfter.length > 0 ? [] : [`${column} ${notBefore(term, dialect)} `, ...value, ' and '];
  return ['(', ...bound, '(', ...strict, ...nullsAfter, ' or ', ...equal, '))'];
}

function notBefore({ isDescending }: PageTerm, { atMost, atLeast }: PageDialect): string {
  return isDescending ? atMost : atLeast;
}
