import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonFaultOffset } from './json-position.ts';

// The caret stands before the character at fault.
test.each([
  '^',
  '  ^',
  `^'[]'`,
  '[] ^[]',
  '[{"a":1,^}]',
  '[{"a":1 ^"b":2}]',
  '[{"name":"a","key_hash":^b0/abc}]',
  '[{^name:1}]',
  '[1,^]',
  '[1^',
  '{"a"^}',
  '{"a":^}',
  '{^,}',
  '[1^}',
  '[^"never closed]',
  '[^"a line break: \n"]',
  '[0^1]',
  'true ^false',
  '^]',
])('%s', (marked) => {
  const text = marked.replace('^', '');
  expect(() => JSON.parse(text)).toThrow(SyntaxError);
  expect(jsonFaultOffset(text)).toBe(marked.indexOf('^'));
});

test('what JSON.parse takes has no fault, and what it refuses has one', () => {
  const soup = fc.string({
    unit: fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '\\', 'a', '1', ' ', '-'),
  });
  fc.assert(
    fc.property(fc.oneof(fc.json(), soup), (text) => {
      let valid = true;
      try {
        JSON.parse(text);
      } catch {
        valid = false;
      }
      expect(jsonFaultOffset(text) === undefined).toBe(valid);
    }),
    { numRuns: 2000 },
  );
});
