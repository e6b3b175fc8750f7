import { CURSOR_PARAM, SORT_PARAM } from '../../capabilities/clauses.ts';
import { DatabaseError } from '../driver/errors.ts';
import { cursorDigest, decodeCursor, encodeCursor } from './cursor.ts';
import type { Part } from './parts.ts';

type Values = Readonly<Record<string, unknown>>;
/** The values of a cursor, as texts of the database. */
export type Texts = readonly (string | null)[];

/** What the statements of a capability are made of, as far as the arguments of a call choose among them. */
export interface Choices<Order extends OrderChoice> {
  readonly filters: readonly FilterChoice[];
  /** One without a name if callers have no choice. */
  readonly orders: readonly Order[];
}

export interface FilterChoice {
  /** The parameter that has it. */
  readonly name: string;
  /** Whether it stands in every statement. */
  readonly stands: boolean;
}

export interface OrderChoice {
  readonly name: string;
  readonly pages?: PageChoice;
}

export interface PageChoice {
  /** The condition by which of the values of the cursor are null, one character each: `n` for null, `v` for a value. */
  readonly conditions: Readonly<Record<string, readonly Part[]>>;
  /** The fields of the order. */
  readonly fields: readonly string[];
  /** The terms with their types: a cursor of others does not belong to it. */
  readonly terms: string;
}

/** What a call asks for. */
export interface Chosen<Order> {
  /** Equal for calls of the same statement. */
  readonly key: string;
  readonly order: Order;
  /** Indices of filters. */
  readonly filters: readonly number[];
  /** The values of the cursor; absent for the first page. */
  readonly after?: Texts;
  /** Of what a cursor of this call belongs to; absent without pages. */
  readonly digest?: string;
}

/** Throws `DatabaseError`: `invalid_params` for a cursor that does not belong to the call. */
export function choose<Order extends OrderChoice>(
  capability: string,
  { filters, orders }: Choices<Order>,
  values: Values,
): Chosen<Order> {
  const name = values[SORT_PARAM];
  const order = orders.find((each) => each.name === name) ?? orders[0];
  if (order === undefined) throw new Error('cannot assemble a statement without an order');
  const isSet = (param: string): boolean => Object.hasOwn(values, param) && (values[param] ?? null) !== null;
  const set = [...filters.entries()].flatMap(([at, filter]) =>
    filter.stands || isSet(filter.name) ? [at] : [],
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

/** The condition of the page that a call asks for; undefined for the first one. */
export function pageOf({ order: { pages }, after }: Chosen<OrderChoice>): readonly Part[] | undefined {
  return after === undefined ? undefined : pages?.conditions[nullsOf(after)];
}

export function foreignCursor(): DatabaseError {
  const advice = FOREIGN_CURSOR;
  return new DatabaseError('invalid_params', advice, { advice });
}

export const FOREIGN_CURSOR: string = `${CURSOR_PARAM}: does not belong to this call`;

/** The cursor of a row. */
export function cursorOf(
  { digest }: Pick<Chosen<OrderChoice>, 'digest'>,
  last: Texts | undefined,
): string | undefined {
  return digest === undefined || last === undefined ? undefined : encodeCursor(last, digest);
}

/** The border of a page lies between rows that the database holds for equal. */
export function tied({ order: { pages } }: Chosen<OrderChoice>): DatabaseError {
  return new DatabaseError('tied', pages?.fields.join(', ') ?? '');
}

/** See `PageChoice`. */
function nullsOf(values: Texts): string {
  return values.map((value) => (value === null ? 'n' : 'v')).join('');
}
