import { describe, expect, it } from 'vitest';
import { nearest } from './nearest.ts';

describe('nearest', () => {
  const fields = ['name', 'key_hash', 'key_id', 'capabilities'];
  it.each([
    ['nmae', 'name'],
    ['hash', 'key_hash'],
    ['keyid', 'key_id'],
    ['capability', 'capabilities'],
  ])('%s is nearest to %s', (word, expected) => {
    expect(nearest(word, fields)).toBe(expected);
  });

  it('gives nothing when all are too far', () => {
    expect(nearest('frobnicate', fields, 3)).toBeUndefined();
    expect(nearest('nam', fields, 1)).toBe('name');
  });

  it('stays quick with a very long word', () => {
    expect(nearest('x'.repeat(1_000_000), fields)).toBeDefined();
  });
});
