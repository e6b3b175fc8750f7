import { startPostgres, type Postgres, type Releasers } from '@svc/testkit';

/** The values from 1 to `most` are what a query's parameter is drawn from. */
export interface QueryShape {
  readonly name: string;
  readonly parameter: string;
  readonly most: number;
  /** With `$1` for the parameter. */
  readonly sql: string;
}

export type Query = 'point' | 'list';

const BOOKS = 1000;
const ROWS = 100;

export const BOOKS_DATABASE = 'bench';

/** Rows of some 120 bytes as JSON, with the types that rows have. */
const BOOKS_SQL: string = `
  create table book (
    id int primary key, title text not null, author text not null,
    price numeric(8,2) not null, added_at timestamptz not null
  );
  insert into book
  select i, 'Book ' || i || ' of the long shelf', 'Author ' || i % 97, i / 4.0,
    timestamptz '2024-01-01 00:00:00+00' + i * interval '37 minutes'
  from generate_series(1, ${BOOKS}) i;
  analyze book;
`;

/** A PostgreSQL with the books. */
export async function startBooks(releasers: Releasers): Promise<Postgres> {
  const postgres = await startPostgres();
  await releasers.add(() => postgres.stop());
  await postgres.createDatabase(BOOKS_DATABASE);
  await postgres.execute(BOOKS_DATABASE, BOOKS_SQL);
  return postgres;
}

const COLUMNS = 'id, title, author, price, added_at';

export const QUERIES: Readonly<Record<Query, QueryShape>> = {
  point: {
    name: 'get_book',
    parameter: 'id',
    most: BOOKS,
    sql: `select ${COLUMNS} from book where id = $1`,
  },
  list: {
    name: 'list_books',
    parameter: 'after',
    most: BOOKS - ROWS,
    sql: `select ${COLUMNS} from book where id > $1 order by id limit ${ROWS}`,
  },
};

/**
 * A row as every contestant must have it: prices as numbers and times as moments, since some write `"1.50"`
 * for `1.5`, or `Z` for `+00:00`. Throws for what is no such row.
 */
export function normalisedRow(row: unknown): string {
  const columns: Readonly<Record<string, unknown>> = { ...(typeof row === 'object' ? row : {}) };
  const moment = Date.parse(String(columns['added_at']));
  const numbers = [Number(columns['id']), Number(columns['price']), moment];
  if (Object.keys(columns).length !== 5 || numbers.some((value) => Number.isNaN(value))) {
    throw new Error(`cannot read this row: ${JSON.stringify(row)}`);
  }
  return JSON.stringify([...numbers, columns['title'], columns['author']]);
}
