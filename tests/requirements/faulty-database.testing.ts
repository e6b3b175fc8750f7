import { fileWith } from './faulty-agent.testing.ts';
import { CANARY, type FaultyConfiguration } from './faulty-configuration.testing.ts';

/** What the cases below run against; the reader's password is the canary. */
export const FAULTY_DATABASE_SQL: string = `
  create table canary_book (id bigint primary key, title text not null, price numeric);
  create table canary_secret (id bigint);
  create function canary_roll() returns bigint language sql volatile as 'select 4::bigint';`;

/** Variables that the capability files of the cases take their database from. */
export type DatabaseVariables = Readonly<
  Record<
    'DB_HOST' | 'DB_PORT' | 'DB_CLOSED_PORT' | 'DB_NAME' | 'DB_READER' | 'DB_WRITER' | 'DB_PASSWORD',
    string
  >
>;

const READER = {
  host: '"${DB_HOST}"',
  port: '"${DB_PORT}"',
  name: '"${DB_NAME}"',
  user: '"${DB_READER}"',
  password: '"${DB_PASSWORD}"',
};

function database(settings: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ ...READER, ...settings }).map(([name, value]) => `${name}: ${value}`);
  return `database: { ${lines.join(', ')} }`;
}

function account(
  title: string,
  settings: Readonly<Record<string, string>>,
  name: string,
): FaultyConfiguration {
  const files = { 'capability.yaml': fileWith({ database: database(settings) }) };
  return { title, binary: 'svc-agent', asProcess: true, files, names: [name] };
}

interface Query {
  readonly sql: string;
  readonly params?: string;
  readonly result?: string;
  readonly policy?: string;
}

/** Capabilities `q1`, `q2`, ... of a sound account. */
function queries(title: string, given: readonly Query[], ...names: readonly string[]): FaultyConfiguration {
  const lines = given.flatMap(
    ({ sql, params = '{}', result = '{ id: { type: integer } }', policy = '{}' }, index) => [
      `  q${index + 1}:`,
      `    sql: ${JSON.stringify(sql)}`,
      `    params: ${params}`,
      `    policy: ${policy}`,
      `    result: ${result}`,
    ],
  );
  const capabilities = ['capabilities:', ...lines].join('\n');
  const files = { 'capability.yaml': fileWith({ database: database({}), capabilities }) };
  return { title, binary: 'svc-agent', asProcess: true, files, names };
}

/** Each is refused at the start, with its detail in the log file only. */
export const FAULTY_DATABASES: readonly FaultyConfiguration[] = [
  account('nothing listens at the address of the database', { port: '"${DB_CLOSED_PORT}"' }, '  database: '),
  account('the host of the database has no address', { host: 'canary.invalid' }, '  database: '),
  account('the password is wrong', { password: `wrong${CANARY}` }, '  database: '),
  account('the account does not exist', { user: 'canary_nobody' }, '  database: '),
  account('the database does not exist', { name: 'canary_nothing' }, '  database: '),
  account('TLS is required of a server without it', { sslmode: 'require' }, '  database: '),
  account(
    'an account that writes is required to only read',
    { user: '"${DB_WRITER}"', require_readonly_account: 'true' },
    '  database.require_readonly_account: ',
  ),
  queries(
    'names that the database does not have',
    [
      { sql: 'select id from canary_books' },
      { sql: 'select canary_id from canary_book' },
      { sql: 'select canary_function(id) as id from canary_book' },
      { sql: 'select id from canary_schema.book' },
      { sql: 'select id from canary_secret' },
    ],
    'q1.sql: is refused by the database (a table or view does not exist',
    'q2.sql: is refused by the database (a column does not exist',
    'q3.sql: is refused by the database (a function or operator does not exist',
    'q4.sql: is refused by the database (a table or view does not exist',
    'q5.sql: is refused by the database (the account may not read',
  ),
  queries(
    'statements that do more than read',
    [
      { sql: "insert into canary_book values (1, 'x') returning id" },
      { sql: 'with gone as (delete from canary_book returning id) select id from gone' },
      { sql: 'select id into canary_copy from canary_book' },
      { sql: 'select id from canary_book for update' },
      { sql: 'select id from canary_book; drop table canary_book' },
      { sql: 'vacuum canary_book' },
    ],
    'q1.sql: must be one SELECT',
    'q2.sql: must be one SELECT',
    'q3.sql: must be one SELECT',
    'q4.sql: must be one SELECT',
    'q5.sql: must be one SELECT',
    'q6.sql: must be one SELECT',
  ),
  queries(
    'SQL that cannot be read',
    [
      { sql: 'select id\nfrom canary_book\nwhere' },
      { sql: "select 'canary" },
      { sql: 'select $1::bigint as id' },
    ],
    'q1.sql: is not valid SQL in its line 3',
    'q2.sql: cannot be read as SQL',
    'q3.sql: uses $1: write parameters as :name',
  ),
  queries(
    'parameters that are not declared, and not used',
    [
      {
        sql: 'select id from canary_book where id = :book and price > :least',
        params: '{ unused: { type: integer } }',
      },
    ],
    'q1.sql: uses :book, which is not declared',
    'q1.sql: uses :least, which is not declared',
    'q1.params.unused: is not used',
  ),
  queries(
    'a parameter of the wrong type',
    [
      { sql: 'select id from canary_book where id = :id', params: '{ id: { type: date } }' },
      {
        sql: 'select id from canary_book where id = :ids',
        params: '{ ids: { type: array, items: { type: integer } } }',
      },
    ],
    'q1.params.id: is declared date',
    'q2.params.ids: is an array, but the SQL takes one bigint here: write x in (:ids) or x = any(:ids), or declare it integer',
  ),
  queries(
    'columns that are missing, doubled or of another type',
    [
      { sql: 'select title from canary_book', result: '{ id: { type: integer }, title: { type: string } }' },
      { sql: 'select a.id, b.id from canary_book a, canary_book b' },
      { sql: 'select price as id from canary_book' },
      { sql: 'select title as id from canary_book', result: '{ id: { type: date } }' },
    ],
    'q1.result.id: is not a column of the SQL',
    'q2.sql: yields two columns named id',
    'q3.result.id: the column is numeric',
    'q4.result.id: the column is text',
  ),
  queries(
    'functions that may not be called',
    [
      { sql: 'select canary_roll() as id' },
      { sql: 'select 1 as id from pg_sleep(1)' },
      {
        sql: "select set_config('canary', 'x', false)::bigint as id",
        policy: '{ allow_functions: [set_config] }',
      },
    ],
    'q1.sql: calls a function of the database, which is volatile',
    'q2.sql: calls pg_sleep, which is volatile',
    'q3.sql: calls set_config, which does more than read',
  ),
];
