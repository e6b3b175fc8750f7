import { expect, test } from 'vitest';
import { formatWanted } from './send-result.ts';

test.each<[string | undefined, ReturnType<typeof formatWanted>]>([
  [undefined, undefined],
  ['', undefined],
  ['*/*', undefined],
  ['application/json', undefined],
  ['text/*', undefined],
  ['text/csv', 'csv'],
  ['TEXT/CSV', 'csv'],
  ['text/csv; charset=utf-8', 'csv'],
  ['application/x-ndjson', 'ndjson'],
  ['text/csv, application/json', undefined],
  ['text/csv, */*', undefined],
  ['text/csv, application/*', undefined],
  ['text/csv, application/json;q=0.9', 'csv'],
  ['text/csv, */*;q=0.1', 'csv'],
  ['text/csv;q=0.5, application/json;q=0.4, */*;q=0.5', undefined],
  ['text/csv;q=0.5, */*;q=0.4', 'csv'],
  ['text/csv;q=0', undefined],
  ['text/csv;q=0.001', 'csv'],
  ['text/csv;q=nonsense', undefined],
  ['text/csv;q=2', undefined],
  ['text/csv, application/x-ndjson', 'csv'],
  ['text/csv;q=0.8, application/x-ndjson;q=0.9', 'ndjson'],
  ['application/x-ndjson, application/*;q=0.5', 'ndjson'],
  ['text/csvx, xtext/csv', undefined],
  ['application/json;q=0.2, application/*, text/csv;q=0.5', 'csv'],
])('Accept: %s', { tags: ['rest:formats'] }, (accept, format) => {
  expect(formatWanted(accept)).toBe(format);
});
