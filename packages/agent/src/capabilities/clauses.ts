import type { Capability, Param, SortTerm } from './model.ts';

export type Terms =
  | { readonly ok: true; readonly terms: readonly SortTerm[] }
  | { readonly ok: false; readonly problem: string };

/** Where the filters stand in the SQL. */
export const PLACE_OF_FILTERS = '{filters}';

/** The parameters that `sort` and `paging` make for callers. */
export const SORT_PARAM = 'sort';
export const CURSOR_PARAM = 'cursor';

const MAX_TERMS = 4;
const TERM = /^\s*(?:"((?:[^"]|"")+)"|([^\s,"()]+))(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?\s*$/i;
/** What stands between commas outside of quotes. */
const BETWEEN_COMMAS = /(?:"(?:[^"]|"")*"|[^,"])+/g;
const FORM =
  'must be fields of `result`, each with `asc` or `desc` and `nulls first` or `nulls last` if wanted, as in `added_on desc, id`';

/** Reads one to four of `FIELD [asc|desc] [nulls first|last]`. */
export function parseTerms(text: string): Terms {
  const written = text.match(BETWEEN_COMMAS) ?? [];
  if (written.join(',') !== text) return { ok: false, problem: FORM };
  if (written.length > MAX_TERMS) return { ok: false, problem: `must have at most ${MAX_TERMS} fields` };
  const terms: SortTerm[] = [];
  for (const each of written) {
    const [, quoted, bare = '', direction = 'asc', nulls] = TERM.exec(each) ?? [];
    const field = quoted?.replaceAll('""', '"') ?? bare;
    if (field === '') return { ok: false, problem: FORM };
    terms.push({
      field,
      isDescending: direction.toLowerCase() === 'desc',
      ...(nulls === undefined ? {} : { nulls: nulls.toLowerCase() === 'first' ? 'first' : 'last' }),
    });
  }
  return { ok: true, terms };
}

/** Those that the SQL names. */
export function sqlParams({ params }: Pick<Capability, 'params'>): readonly Param[] {
  return params.filter(({ madeBy }) => madeBy === undefined);
}

/** A filter that falls away where its parameter has no value. */
export function mayFallAway(param: Param): boolean {
  return param.filter !== undefined && mayBeAbsent(param);
}

/** Whether there are calls in which it has no value. */
export function mayBeAbsent({ required, schema }: Param): boolean {
  return !required && (schema.default ?? null) === null;
}

/** What `check` says of a capability that is assembled at each call. */
export interface StatementCounts {
  readonly filters: number;
  readonly orders: number;
  /** All that calls may run. */
  readonly statements: number;
  /** Those that verification has the database plan. */
  readonly planned: number;
}

/** By the names of the capabilities; undefined if each has one statement only. */
export function statementCounts(
  capabilities: readonly Capability[],
): Readonly<Record<string, StatementCounts>> | undefined {
  const counts = capabilities.flatMap(({ name, params, clauses }) => {
    if (clauses === undefined) return [];
    const filters = params.filter(({ filter }) => filter !== undefined);
    const ordered = Math.max(1, clauses.orders.length) * (clauses.hasPages ? 2 : 1);
    const statements = 2 ** filters.filter(mayFallAway).length * ordered;
    const planned = ordered + (filters.length > 0 ? 1 + filters.length : 0);
    return [[name, { filters: filters.length, orders: clauses.orders.length, statements, planned }] as const];
  });
  return counts.length === 0 ? undefined : Object.fromEntries(counts);
}
