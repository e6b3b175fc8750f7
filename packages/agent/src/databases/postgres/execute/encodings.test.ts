import {
  type TestedDatabase,
  callOf,
  capabilityOf,
  configOf,
  queryOf,
  textOfRows,
  openPostgres,
} from '../capability.fixture.ts';
import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Query } from '../../driver/driver.ts';

let server: TestDatabase;
let name: string;
let database: TestedDatabase;
let query: Query;
beforeAll(async () => {
  server = await testDatabase();
  name = `${server.name}_latin1`;
  const provider = (await server.version()) >= 150_000 ? 'locale_provider libc' : '';
  const locale = `${provider} lc_collate 'C' lc_ctype 'C'`;
  await server.execute(`create database ${name} template template0 encoding 'LATIN1' ${locale}`);
  database = openPostgres(configOf({ ...server, name }, { maxConnections: 1 }));
  const sql = "select concat(pg_backend_pid(), ' ', current_setting('svc.api_key_name'), :text::text) as a";
  query = await queryOf(
    database,
    capabilityOf(sql, { params: { text: { type: 'string' } }, result: { a: 'string' } }),
  );
});
afterAll(async () => {
  await database.close();
  await server.execute(`drop database ${name}`);
});

/** The process of the server and the name of the key, as the database has them. */
async function call(apiKeyName: string): Promise<readonly string[]> {
  const rows: readonly { readonly a: string }[] = JSON.parse(
    textOfRows(await query.run(callOf({ text: '' }, { apiKeyName }))),
  );
  return rows[0]?.a.split(' ') ?? [];
}

test('a name of a key that the encoding has not is told by the log, and costs no connection', async () => {
  const [process] = await call('reporting');
  for (const unknown of ['ключ', 'key 😀', 'key\0']) {
    const error: unknown = await call(unknown).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ kind: 'failed' });
    expect(String(error)).toMatch(/cannot hold the name of the API key.*SQLSTATE 22(P05|021)/);
    expect(String(error)).not.toContain(unknown);
  }
  expect(await call('clé')).toEqual([process, 'clé']);
});

test('a value of a parameter that the encoding has not is not taken for the name of the key', async () => {
  const [process] = await call('reporting');
  const refused = query.run(callOf({ text: 'ключ' }, { apiKeyName: 'clé' }));
  await expect(refused).rejects.toMatchObject({ kind: 'invalid_params' });
  expect(await call('clé')).toEqual([process, 'clé']);
});
