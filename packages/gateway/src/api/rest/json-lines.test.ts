import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonLines } from './row-formats.ts';

function linesOf(json: string): string {
  return Buffer.concat([...jsonLines(Buffer.from(json))]).toString();
}

describe('rows as lines of JSON', { tags: ['rest:ndjson'] }, () => {
  test('are one a line, and the same as in the array, however it is written', () => {
    const text = fc.string({
      unit: fc.constantFrom('"', '\\', '\n', '\r', ',', '[', ']', '{', '}', 'é', '🐈'),
    });
    const rows = fc.array(fc.dictionary(text, fc.oneof(text, fc.jsonValue({ maxDepth: 3 }))), {
      minLength: 1,
    });
    fc.assert(
      fc.property(rows, fc.constantFrom(undefined, 1, '\t'), fc.nat(70_000), (items, indent, fill) => {
        const json = JSON.stringify([{ fill: 'é"'.repeat(fill) }, ...items], undefined, indent);
        const lines = linesOf(json);
        expect(lines.endsWith('\n')).toBe(true);
        const parsed: readonly unknown[] = lines
          .slice(0, -1)
          .split('\n')
          .map((line) => JSON.parse(line));
        expect(parsed).toEqual(JSON.parse(json));
      }),
      { numRuns: 100 },
    );
  });

  test('are the bytes of the array where it has no blanks', () => {
    expect(linesOf('[{"a":"x,\\n]"},{"a":[1,{"b":2.50}]}]')).toBe('{"a":"x,\\n]"}\n{"a":[1,{"b":2.50}]}\n');
  });
});
