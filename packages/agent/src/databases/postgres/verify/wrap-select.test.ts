import { readFileSync } from 'node:fs';
import { loadModule } from 'libpg-query';
import { beforeAll, describe, expect, test } from 'vitest';
import { inspectSelect } from './statement/inspect.ts';
import type { ResultForm } from '../execute/prepared-query.ts';
import { wrapSelect, wrapsExactly, type Wrapping } from './wrap-select.ts';

beforeAll(loadModule);

const subselect: Wrapping = {
  capability: 'sample',
  isVolatile: true,
  columns: [{ name: 'a', value: 'q."a"', json: 'q."a"::text', nullable: false }],
  limits: { maxRows: 10, maxBytes: 1000 },
  utf8: true,
  unlocks: true,
  fewRows: false,
};

const FORMS: readonly ResultForm[] = ['few', 'whole', 'prefix'];

const WRAPPINGS = [
  ['a subselect', subselect],
  ['a WITH query', { ...subselect, isVolatile: false }],
  ['a subselect of few rows', { ...subselect, fewRows: true }],
] as const;
const cases = FORMS.flatMap((form) => WRAPPINGS.map(([title, wrapping]) => ({ form, title, wrapping })));

describe.each(cases)('$form, as $title', ({ form, wrapping }) => {
  test.each([
    'select 1 as a',
    'with x as (select 1 as a) table x',
    'values (1), (2)',
    'select 1 as a -- why\n union select 2',
  ])('%s stays in its place', (sql) => {
    const read = inspectSelect(sql);
    const wrapped = wrapSelect(sql, wrapping, form);
    expect(read.ok && wrapsExactly(wrapped, read.inspected.tree, wrapping, form)).toBe(true);
  });

  test.each([
    'select 1 as a) q, (select 2',
    'select 1 as a) q offset 0) q) r limit 1) x; drop table t; --',
    'select 1 as a) q offset 0) q offset 0) r limit 1) x) y; drop table t; --',
    'select 1 as a), z as (select 2',
    'select 1 as a) select 1 --',
    'select 1 as a) select 1; drop table t; --',
    'select 1 as a) q offset 0) q) r limit 11) x union all select 2 --',
    'select 1 as a) select 1 union all select 2 --',
    'select 1 as a limit 1) q offset 0) q) r limit 11) x cross join (select * from (select * from (select * from (select 1',
    'select 1 as a limit 1) q offset 0) q offset 0) r limit 11) x window w as (rows unbounded preceding)) y cross join (select * from (select * from (select * from (select * from (select 1',
  ])('%s does not pass as its first part', (sql) => {
    const read = inspectSelect('select 1 as a');
    let exact = false;
    try {
      const wrapped = wrapSelect(sql, wrapping, form);
      exact = read.ok && wrapsExactly(wrapped, read.inspected.tree, wrapping, form);
    } catch {
      // Not SQL any more, which is as good as refused.
    }
    expect(exact).toBe(false);
  });
});

test('the comment beside wrapSelect shows the statements that are sent', () => {
  const source = readFileSync(new URL('wrap-select.ts', import.meta.url), 'utf8');
  const shown = Array.from(source.matchAll(/(?:^ \* {5}.*\n)+/gm), ([text]) =>
    text.replaceAll(/^ \* {5}/gm, ''),
  );
  const column = (name: string, nullable: boolean): Wrapping['columns'][number] => ({
    name,
    value: `q."${name}"`,
    json: '',
    nullable,
  });
  const wrapping: Wrapping = {
    ...subselect,
    isVolatile: false,
    columns: [column('id', false), column('title', true)],
    limits: { maxRows: 100, maxBytes: 65_536 },
    fewRows: true,
  };
  const sent = FORMS.map((form) =>
    wrapSelect('select id, title from film', wrapping, form)
      .replace('/* svc:sample */ ', '')
      .replaceAll('pg_catalog.', '')
      .replaceAll(/operator\((\S+)\)/g, '$1'),
  );
  const onOneLine = (text: string): string => text.trim().replaceAll(/\s+/g, ' ');
  expect(shown.map(onOneLine)).toEqual(sent.map(onOneLine));
});
