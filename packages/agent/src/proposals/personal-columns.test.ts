import { expect, test } from 'vitest';
import { LABELLED_COLUMNS, type LabelledColumn } from './labelled-columns.fixture.ts';
import { sensitivityOf } from './personal-columns.ts';

const judged = LABELLED_COLUMNS.map((column) => ({
  ...column,
  found: sensitivityOf({ table: column.table, name: column.column, kind: column.kind })?.kind,
}));

function namesOf(columns: readonly LabelledColumn[]): readonly string[] {
  return columns.map(({ table, column }) => `${table}.${column}`);
}

test('there are enough labelled columns, each once', () => {
  const names = namesOf(LABELLED_COLUMNS);
  expect(names.length).toBeGreaterThanOrEqual(250);
  expect(new Set(names).size).toBe(names.length);
});

test('every credential is found', () => {
  const missed = judged.filter(({ label, found }) => label === 'credential' && found === undefined);
  expect(namesOf(missed)).toEqual([]);
});

test('of what is personal 95 % is found, and of what is found 80 % is personal', () => {
  const personal = judged.filter(({ label }) => label === 'personal');
  const missed = personal.filter(({ found }) => found === undefined);
  const flagged = judged.filter(({ found }) => found !== undefined);
  const wrong = flagged.filter(({ label }) => label === 'neither');
  expect(1 - missed.length / personal.length).toBeGreaterThanOrEqual(0.95);
  expect(1 - wrong.length / flagged.length).toBeGreaterThanOrEqual(0.8);
});
