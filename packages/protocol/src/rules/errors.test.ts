import { describe, expect, test } from 'vitest';
import { CALL_ERRORS, LINK_ERRORS } from './errors.ts';

describe.each(Object.entries(CALL_ERRORS))('%s', (_code, terms) => {
  test('has a status, texts for callers and models, and documentation', () => {
    const { status, headers = [], text, forModels, when, caller, operator } = terms;
    expect(status).toBeGreaterThanOrEqual(400);
    expect(headers.length % 2).toBe(0);
    for (const said of [text, forModels, when, caller, operator]) expect(said).toMatch(/\S/);
    for (const sentence of [forModels, when, caller, operator]) expect(sentence).toMatch(/\.$/);
    expect(text).not.toMatch(/\.$/);
  });

  test('names the seconds to wait where waiting is what callers do', () => {
    const { repeat, headers = [], caller } = terms;
    expect(headers.includes('Retry-After')).toBe(repeat === 'after the wait');
    expect(caller.includes('Retry-After')).toBe(repeat === 'after the wait');
  });
});

test.each(Object.entries(LINK_ERRORS))('%s has a text, and documentation', (_code, { text, meaning }) => {
  expect(text).toMatch(/\S/);
  expect(meaning).toMatch(/\.$/);
});

test('what never reaches the database is not said to have begun', () => {
  const refused = Object.entries(CALL_ERRORS).filter(
    ([, { status, repeat }]) => [401, 404, 429].includes(status) || repeat === 'after the wait',
  );
  expect(refused.filter(([, { mayHaveBegun }]) => mayHaveBegun)).toEqual([]);
});
