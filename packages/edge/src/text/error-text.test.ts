import { expect, test } from 'vitest';
import { errorText } from './error-text.ts';

test('the text of an error is its message', () => {
  expect(errorText(new Error('no route'))).toBe('no route');
  expect(errorText('thrown text')).toBe('thrown text');
});

test('the text of several errors under one without a message is all of theirs', () => {
  const both = [new Error('first'), new AggregateError([new Error('second'), 'third'])];
  expect(errorText(new AggregateError(both))).toBe('first; second; third');
  expect(errorText(new AggregateError(both, 'all failed'))).toBe('all failed');
});
