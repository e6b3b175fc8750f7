import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { editorSchema } from './editor-schema.ts';

const validate = new Ajv({ strict: false }).compile(editorSchema());

const file = {
  service: { title: 'T', version: '1' },
  gateway: { url: 'wss://g/ws/agent', agent_private_key: '${KEY}' },
  database: { host: 'h', port: 5432, name: 'n', user: 'u', password: '${PW}' },
  capabilities: { ping: { sql: 'SELECT 1 AS one', result: { one: { type: 'integer' } } } },
};

test('accepts a plain file', () => {
  expect(validate(file)).toBe(true);
});

test('accepts references where numbers, booleans, sizes, durations and names stand', () => {
  const database = {
    ...file.database,
    port: '${PORT}',
    sslmode: '${MODE}',
    require_readonly_account: '${STRICT}',
  };
  const defaults = { timeout: '${T}', max_rows: '${ROWS}', max_bytes: '${BYTES}' };
  expect(validate({ ...file, database, defaults })).toBe(true);
});

test.each([
  { driver: 'mysql', host: 'h', name: 'n', user: 'u', password: 'p', caller_variables: true },
  { driver: 'sqlite', file: 'a.db', immutable: true },
  { driver: 'duckdb', file: 'a.duckdb', read_files: ['exports/'], memory: '${MEMORY}' },
])('knows the keys of each driver, also of one of several databases', (database) => {
  expect(validate({ ...file, database })).toBe(true);
  const { database: _only, ...rest } = file;
  expect(validate({ ...rest, databases: { one: file.database, two: database } })).toBe(true);
});

test.each([
  { ...file, database: { driver: 'sqlite' } },
  { ...file, database: { driver: 'postgres', file: 'a.db' } },
  { ...file, database: { ...file.database, port: '5432' } },
  { ...file, database: { ...file.database, prot: 5432 } },
  { ...file, defaults: { timeout: 30 } },
  { ...file, defaults: { timeout: '30' } },
])('refuses what the lint refuses', (wrong) => {
  expect(validate(wrong)).toBe(false);
});

test('describes every setting', () => {
  const bare: string[] = [];
  visit(editorSchema(), '', bare);
  expect(bare).toEqual([]);
});

function visit(schema: unknown, path: string, bare: string[]): void {
  if (typeof schema !== 'object' || schema === null) return;
  if (!('description' in schema)) bare.push(path);
  if ('properties' in schema && typeof schema.properties === 'object' && schema.properties !== null) {
    for (const [name, inner] of Object.entries(schema.properties)) visit(inner, `${path}.${name}`, bare);
  }
  if ('additionalProperties' in schema && typeof schema.additionalProperties === 'object') {
    visit(schema.additionalProperties, `${path}.*`, bare);
  }
}
