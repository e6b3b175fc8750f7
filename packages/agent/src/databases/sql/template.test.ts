import { expect, test } from 'vitest';
import type { Param } from '../../capabilities/model.ts';
import { createTemplate, fillTemplate, type ScannedStatement } from './template.ts';

/** A dialect without strings or comments whose placeholder is a question mark. */
function scan(sql: string): ScannedStatement {
  const bytes = (text: string): number => Buffer.byteLength(text);
  const references = [...sql.matchAll(/:([a-z]+)/g)].map(({ 0: whole, 1: name = '', index }) => {
    const start = bytes(sql.slice(0, index));
    return { name, start, end: start + bytes(whole) };
  });
  return { references, end: bytes(sql.trimEnd()), texts: [], comments: [], faults: [] };
}

function paramsOf(...names: readonly string[]): readonly Param[] {
  const position = { line: 1, column: 1 };
  return names.map((name) => ({ name, required: false, schema: { type: 'integer' }, position }));
}

test('placeholders of any form stand where the references stood, and say where', () => {
  const sql = "select 'ä', :b, :a, :b  ";
  const result = createTemplate(sql, scan(sql), paramsOf('a', 'b'));
  if (!result.ok) throw new Error(JSON.stringify(result.faults));
  expect(result.template.params.map(({ name }) => name)).toEqual(['b', 'a']);
  const placeholders = result.template.references.map((index) => ({ number: index + 1 }));
  const filled = fillTemplate(result.template, placeholders, () => ({ text: '(?)', offset: 1 }));
  expect(filled.text).toBe("select 'ä', (?), (?), (?)");
  const source = Buffer.from(filled.text);
  expect(filled.places.map(({ number }) => number)).toEqual([1, 2, 1]);
  expect(filled.places.map(({ offset }) => source.toString('utf8', offset, offset + 1))).toEqual([
    '?',
    '?',
    '?',
  ]);
});

test('faults of the scanner, of the SQL and of the parameters are told together', () => {
  const sql = 'select :a, :b';
  const own = { message: 'is odd' };
  expect(createTemplate(sql, { ...scan(sql), faults: [own] }, paramsOf('b', 'c'))).toEqual({
    ok: false,
    faults: [
      own,
      { message: 'uses :a, which is not declared: add it to params' },
      { param: 'c', message: 'is not used: write :c in the SQL or remove it' },
    ],
  });
});
