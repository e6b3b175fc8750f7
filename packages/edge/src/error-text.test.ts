import { expect, test } from 'vitest';
import { errorText } from './error-text.ts';

test('an error says its message', () => {
  expect(errorText(new Error('no route'))).toBe('no route');
  expect(errorText('thrown text')).toBe('thrown text');
});

test('several errors without a message of their own say all of theirs', () => {
  const both = [new Error('first'), new AggregateError([new Error('second'), 'third'])];
  expect(errorText(new AggregateError(both))).toBe('first; second; third');
  expect(errorText(new AggregateError(both, 'all failed'))).toBe('all failed');
});
