import { describe, expect, it } from 'vitest';
import { nearest, nearestWithin } from './nearest.ts';

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

describe('nearestWithin', () => {
  const known = ['max_rows', 'max_bytes', 'timeout', 'port', 'integer', 'string'];
  it.each([
    ['max_row', 'max_rows'],
    ['maxbytes', 'max_bytes'],
    ['prot', 'port'],
    ['Timeout', 'timeout'],
    ['int', 'integer'],
    ['integr', 'integer'],
  ])('%s most likely means %s', (name, meant) => {
    expect(nearestWithin(name, known)).toBe(meant);
  });

  it.each(['', 'x', 'colour', 'retries', 'in'])('%j is near nothing', (name) => {
    expect(nearestWithin(name, known)).toBeUndefined();
  });
});
