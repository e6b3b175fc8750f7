import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { databaseExists } from './server-address.ts';
import { dropTestDatabases, testDatabase } from './test-database.ts';

const schema = 'create table counted (x int); insert into counted values (1), (2), (3);';

test('databases of the same SQL are equal and independent', async () => {
  const [first, second] = await Promise.all([
    testDatabase({ sql: [schema] }),
    testDatabase({ sql: [schema] }),
  ]);
  await first.execute('delete from counted where x > 1');
  expect(await first.query('select x from counted')).toEqual([{ x: 1 }]);
  expect(await second.query('select x from counted where x >= $1', [2])).toEqual([{ x: 2 }, { x: 3 }]);
});

test('without SQL a database is empty', async () => {
  const database = await testDatabase();
  expect(await database.query(`select from pg_class where relnamespace = 'public'::regnamespace`)).toEqual(
    [],
  );
});

test('SQL that fails is reported, also the second time', async () => {
  const sql = ['create table a (x int)', 'insert into b values (1)'];
  await expect(testDatabase({ sql })).rejects.toThrow('relation "b" does not exist');
  await expect(testDatabase({ sql })).rejects.toThrow('relation "b" does not exist');
});

test('at the end databases are dropped, and connections left open are reported', async () => {
  const database = await testDatabase();
  const client = new pg.Client({ connectionString: database.url, application_name: 'forgotten' });
  client.on('error', () => {});
  await client.connect();
  await expect(dropTestDatabases()).rejects.toThrow(/left open.*\nforgotten idle/);
  expect(await databaseExists(inject('postgres'), database.name)).toBe(false);
  await client.end();
});
