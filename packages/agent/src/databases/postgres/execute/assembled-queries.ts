import { cursorDigest, decodeCursor, encodeCursor } from '../../clauses/cursor.ts';
import { CURSOR_PARAM, SORT_PARAM } from '../../../capabilities/clauses.ts';
import { DatabaseError } from '../../driver/errors.ts';
import type { ValueProbe } from '../../sql/probes/value-probes.ts';
import type { Part } from '../../clauses/parts.ts';
import { assemble, join } from './assemble.ts';
import {
  FEW_ROWS,
  type AssembledForms,
  type AssembledOrder,
  type AssembledQuery,
  type AssembledStatements,
  type PreparedQuery,
  type Statements,
} from './prepared-query.ts';

type Values = Readonly<Record<string, unknown>>;
type Texts = readonly (string | null)[];

/** What a call asks for. */
export interface Chosen {
  /** Equal for calls of the same statement. */
  readonly key: string;
  readonly order: AssembledOrder;
  readonly filters: readonly number[];
  /** The values of the cursor; absent for the first page. */
  readonly after?: Texts;
  /** Of what a cursor of this call belongs to; absent without pages. */
  readonly digest?: string;
}

/** Throws `DatabaseError`: `invalid_params` for a cursor that does not belong to the call. */
export function choose(
  { capability, params }: PreparedQuery,
  { filters, orders }: AssembledQuery,
  values: Values,
): Chosen {
  const name = values[SORT_PARAM];
  const order = orders.find((each) => each.name === name) ?? orders[0];
  if (order === undefined) throw new Error('cannot assemble a statement without an order');
  const isSet = (index: number): boolean => {
    const param = params[index]?.param.name ?? '';
    return Object.hasOwn(values, param) && (values[param] ?? null) !== null;
  };
  const set = [...filters.entries()].flatMap(([at, { param, stands }]) =>
    stands || isSet(param) ? [at] : [],
  );
  const key = `${order.name} ${set.join()}`;
  const { pages } = order;
  if (pages === undefined) return { key, order, filters: set };
  const { [CURSOR_PARAM]: cursor, ...others } = values;
  const digest = cursorDigest({ capability, order: order.name, terms: pages.terms }, others);
  if (typeof cursor !== 'string') return { key, order, filters: set, digest };
  const after = decodeCursor(cursor, digest, pages.fields.length);
  const nulls = after === undefined ? '' : nullsOf(after);
  if (after === undefined || pages.conditions[nulls] === undefined) throw foreignCursor();
  return { key: `${key} ${nulls}`, order, filters: set, after, digest };
}

function foreignCursor(): DatabaseError {
  const advice = FOREIGN_CURSOR;
  return new DatabaseError('invalid_params', advice, { advice });
}

export const FOREIGN_CURSOR: string = `${CURSOR_PARAM}: does not belong to this call`;

/** The cursor of a row. */
export function cursorOf({ digest }: Chosen, last: Texts | undefined): string | undefined {
  return digest === undefined || last === undefined ? undefined : encodeCursor(last, digest);
}

/** The one of the verified statements, as if the capability had no other. */
export function assembledQuery(
  verified: PreparedQuery,
  { filters, rows }: AssembledQuery,
  { order, filters: chosen, after }: Chosen,
): PreparedQuery {
  const { statements, page } = partsOf(order, after);
  const expected = Math.min(rows, ...chosen.map((index) => filters[index]?.rows ?? rows));
  const textsOf = (forms: AssembledForms): Statements & { readonly params: readonly number[] } => {
    const whole = assemble(forms, 'whole', chosen, page);
    const prefix = assemble(forms, 'prefix', chosen, page);
    const few = expected <= FEW_ROWS ? assemble(forms, 'few', chosen, page) : undefined;
    if (whole === undefined || prefix === undefined) throw new Error('cannot assemble a statement');
    return {
      whole: whole.text,
      prefix: prefix.text,
      params: whole.params,
      ...(few === undefined ? {} : { few: few.text }),
    };
  };
  const { params, ...own } = textsOf(statements.own);
  const { assembled: _assembled, shared, ...rest } = verified;
  const bound = params.flatMap((index) => verified.params[index] ?? []);
  return {
    ...rest,
    own,
    ...(shared === undefined || statements.shared === undefined
      ? {}
      : { shared: sharedOf(shared, textsOf(statements.shared)) }),
    params: bound,
    probes: verified.probes.flatMap((probe) => probeWith(probe, params)),
  };
}

/**
 * Whether the server should plan it for its values. A plan for any values guesses well what part of a table a comparison
 * with one column finds, but takes a range with two ends, and what it cannot look into, for a very small one.
 */
export function plansEach({ filters }: AssembledQuery, { filters: chosen }: Chosen): boolean {
  const ranges = new Set<string>();
  return chosen.some((index) => {
    const { compares } = filters[index] ?? {};
    if (compares === undefined) return true;
    if (!compares.isRange) return false;
    const isSecond = ranges.has(compares.column);
    ranges.add(compares.column);
    return isSecond;
  });
}

/** The text of the statement alone, with `$1`, `$2`, ... */
export function statementText({ order, filters, after }: Chosen): string {
  const { statements, page } = partsOf(order, after);
  const made = join(statements.statement, statements.own, filters, page);
  if (made === undefined) throw new Error('cannot assemble a statement');
  return made.text;
}

function partsOf(
  { first, pages }: AssembledOrder,
  after: Texts | undefined,
): { readonly statements: AssembledStatements; readonly page: readonly Part[] | undefined } {
  if (after === undefined || pages === undefined) return { statements: first, page: undefined };
  return { statements: pages.next, page: pages.conditions[nullsOf(after)] };
}

/** See `AssembledPages`. */
function nullsOf(values: Texts): string {
  return values.map((value) => (value === null ? 'n' : 'v')).join('');
}

function sharedOf(
  { relations, searchPath }: NonNullable<PreparedQuery['shared']>,
  { params: _params, ...statements }: Statements & { readonly params: readonly number[] },
): NonNullable<PreparedQuery['shared']> {
  return { ...statements, relations, searchPath };
}

/** With the indices of the parameters that the statement has; none if it lacks one. */
function probeWith({ text, params }: ValueProbe, present: readonly number[]): readonly ValueProbe[] {
  const moved = params.map((index) => present.indexOf(index));
  return moved.includes(-1) ? [] : [{ text, params: moved }];
}
