import { expect, test } from 'vitest';
import type { Catalog, CatalogTable } from '../databases/driver/catalog.ts';
import { chooseTables, type TableChoice } from './choose-tables.ts';

const tables = ['public.film', 'public.film_actor', 'audit.log', 'audit.film'].map((path): CatalogTable => {
  const [schema = '', name = ''] = path.split('.');
  const column = { name: 'id', sql: 'id', type: 'integer', kind: 'integer', nullable: false } as const;
  const nothing = { keys: [], foreignKeys: [], indexes: [], rowSecurity: false };
  return { schema, name, sql: path, kind: 'table', columns: [column], ...nothing };
});
const catalog: Catalog = { name: 'd', tables, accounts: new Set() };
const all: TableChoice = { schemas: [], tables: [], exclude: [], include: [] };

function chosenBy(choice: Partial<TableChoice>): readonly string[] | string {
  const result = chooseTables(catalog, { ...all, ...choice });
  return result.ok ? tables.filter(result.chosen).map(({ sql }) => sql) : result.problem;
}

test.each([
  [{}, ['public.film', 'public.film_actor', 'audit.log', 'audit.film']],
  [{ schemas: ['audit'] }, ['audit.log', 'audit.film']],
  [{ tables: ['film*'] }, ['public.film', 'public.film_actor', 'audit.film']],
  [{ tables: ['film'], exclude: ['audit.*'] }, ['public.film']],
  [{ tables: ['public.*'], exclude: ['film?actor'] }, ['public.film']],
  [{ tables: ['f.lm'] }, '--tables "f.lm" does not name any table or view'],
  [{ schemas: ['adit'] }, '--schema "adit" does not name a schema with tables or views'],
  [{ include: ['film.it'] }, expect.stringContaining('--include "film.it"')],
  [{ tables: ['log'], include: ['film.id'] }, expect.stringContaining('--include "film.id"')],
])('%j', (choice, expected) => {
  expect(chosenBy(choice)).toEqual(expected);
});

test('a column is included by its table, with or without the schema', () => {
  const included = (name: string): readonly string[] => {
    const result = chooseTables(catalog, { ...all, include: [name] });
    if (!result.ok) throw new Error(result.problem);
    return tables
      .filter((table) => table.columns.some((column) => result.included(table, column)))
      .map(({ sql }) => sql);
  };
  expect(included('film.id')).toEqual(['public.film', 'audit.film']);
  expect(included('audit.film.id')).toEqual(['audit.film']);
});
