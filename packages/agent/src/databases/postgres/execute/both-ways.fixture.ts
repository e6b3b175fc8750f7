import { callOf, textOfRows, type TestedDatabase } from '../capability.fixture.ts';
import type { Query, QueryResult } from '../../driver/driver.ts';
import type { PreparedQuery } from './prepared-query.ts';

type Values = Readonly<Record<string, unknown>>;

/** How a call ends: its rows with their count and whether there are more, or its error. */
export type Ending = string;

/**
 * How a call ends, in an own transaction in each form and, if verification allows it, in a shared one. `database` has one
 * connection, or several.
 */
export async function endingsOf(
  database: TestedDatabase,
  verified: PreparedQuery,
  values: Values,
): Promise<{ readonly own: readonly Ending[]; readonly shared: readonly Ending[] }> {
  const { few: _few, ...larger } = verified.own;
  const { shared: _shared, ...own } = verified;
  const inFew = database.prepare(own);
  const wholeOnly: PreparedQuery = { ...own, own: larger };
  const inWhole = database.prepare(wholeOnly);
  // Not known to be short, it is sent as `prefix`.
  const endings = [await endingOf(inFew, values)];
  for (const query of [inFew, inWhole]) {
    await trust(query, values);
    endings.push(await endingOf(query, values));
  }
  const shared = verified.shared === undefined ? [] : await together(database, verified, values);
  return { own: endings, shared };
}

/** Runs it until it is sent in the form for short queries. */
async function trust(query: Query, values: Values): Promise<void> {
  for (let run = 0; run < 3; run += 1) await endingOf(query, values);
}

/** Three endings of calls of one turn; they leave in a shared transaction unless the machine is too busy. */
async function together(
  database: TestedDatabase,
  verified: PreparedQuery,
  values: Values,
): Promise<readonly Ending[]> {
  const query = database.prepare(verified);
  await trust(query, values);
  return Promise.all([1, 2, 3].map(() => endingOf(query, values)));
}

function endingOf(query: Query, values: Values): Promise<Ending> {
  return query.run(callOf(values)).then(described, (error: unknown) => String(error));
}

function described(result: QueryResult): Ending {
  return `${result.count}${result.truncated ? ' of more' : ''} ${textOfRows(result)}`;
}
