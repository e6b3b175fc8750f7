import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextPage } from './next-page.ts';

const next = (rows: string, paging: Record<string, string> = { after: 'id' }): string | undefined =>
  nextPage(Buffer.from(rows), paging);

describe('the parameters that continue after the last row', { tags: ['rest:next'] }, () => {
  test('have the values of its fields, whatever is beside them and however it is written', () => {
    const text = fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', 'a', 'é', '🐈') });
    const value = fc.oneof(text, fc.integer(), fc.boolean(), fc.jsonValue({ maxDepth: 2 }));
    const row = fc.record({ x: value, id: value.filter((id) => id !== null), 'a "key"': text, y: value });
    fc.assert(
      fc.property(fc.array(row, { minLength: 1 }), fc.constantFrom(undefined, 1), (rows, indent) => {
        const found = next(JSON.stringify(rows, undefined, indent), { after: 'id', until: 'a "key"' });
        const [parsed] = [JSON.parse(JSON.stringify(rows.at(-1)))];
        expect(JSON.parse(found ?? '')).toEqual({ after: parsed.id, until: parsed['a "key"'] });
      }),
      { numRuns: 300 },
    );
  });

  test('are as they are written there', () => {
    expect(next('[{"id":1},{"id":12345678901234567890.10}]')).toBe('{"after":12345678901234567890.10}');
  });

  test.each([
    ['there is no row', '[]'],
    ['a value is null', '[{"id":1},{"id":null}]'],
    ['a field is missing', '[{"id":1},{"x":1}]'],
    ['the last is no object', '[1]'],
    ['the bytes are no JSON', '[{"id\\"}'],
    ['it goes beyond any depth', `[{"x":${'['.repeat(20_000)}${']'.repeat(20_000)},"id":1}]`],
  ])('are none where %s', (_title, rows) => {
    expect(next(rows)).toBeUndefined();
  });

  test('are found, or not, in any bytes', () => {
    const noise = fc.string({ unit: fc.constantFrom('[', ']', '{', '}', '"', '\\', ',', ':', 'id', '1') });
    fc.assert(
      fc.property(noise, (rows) => void next(rows)),
      { numRuns: 2000 },
    );
  });
});
