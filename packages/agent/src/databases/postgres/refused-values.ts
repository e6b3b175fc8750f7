import type { BoundParam } from './choose-types.ts';
import { sqlStateOf } from './errors.ts';
import { exchange, type Transaction } from './exchange.ts';
import type { Statement } from './flight.ts';
import type { SessionPool, Wait } from './pool.ts';

/**
 * Data exceptions, violated constraints of a domain, exceeded limits (too long a word of a tsquery), and how input
 * functions with a grammar of their own (jsonpath, tsquery) and those of a user's domain complain.
 */
const INPUT_ERROR = /^(?:22|23|54|42601$|P0001$)/;

/** Whether an error may come from converting a value. */
export function mayBeInputError(error: unknown): boolean {
  return INPUT_ERROR.test(sqlStateOf(error) ?? '');
}

/**
 * The indexes of those values that the database does not take as what their parameters are bound as: each is cast
 * alone, so an error cannot be that of the query. Throws `DatabaseError` when no connection is free in time.
 */
export async function refusedValues(
  pool: SessionPool,
  settings: Transaction['settings'],
  values: readonly { readonly param: BoundParam; readonly text: string | null }[],
  wait: Wait,
): Promise<readonly number[]> {
  const deadline = performance.now() + wait.timeoutMs;
  const statements = values.map(({ param, text }): Statement => {
    const casts = param.casts.map((cast) => `($1::${cast}) is null`);
    return { text: `select ${casts.join(', ')}`, values: [text] };
  });
  const refused: number[] = [];
  for (let from = 0; from < statements.length; from = (refused.at(-1) ?? from) + 1) {
    const left = { ...wait, timeoutMs: deadline - performance.now() };
    if (left.timeoutMs <= 0) break;
    const session = await pool.acquire(left);
    const transaction = { settings, statements: statements.slice(from) };
    const done = await exchange(pool, session, transaction, left);
    // Anything but a refusal leaves the rest undecided.
    if (!done.begun || done.stopped !== undefined || !mayBeInputError(done.error)) break;
    refused.push(from + done.results.length);
  }
  return refused;
}

/** What a value must be to be taken; never holds the value, nor a name of the database's own making. */
export function mustBe({ param, type }: BoundParam): string {
  if (type?.title === undefined) return 'must be a value that the database takes';
  return param.schema.type === 'array'
    ? `every item must be a valid ${type.title}`
    : `must be a valid ${type.title}`;
}
