import { describe, expect, it } from 'vitest';
import { parseClaims } from './parse-claims.ts';

function problemsOf(value: unknown): readonly string[] {
  const parsed = parseClaims(value);
  return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path.join('.')} ${message}`);
}

describe('parseClaims', () => {
  it('reads texts, numbers, booleans and lists of texts', () => {
    const claims = { org_id: 'north', level: 3.5, beta: false, groups: ['a', 'b'], none: [] };
    expect(parseClaims(claims)).toEqual({ ok: true, claims, json: JSON.stringify(claims) });
    expect(parseClaims({})).toEqual({ ok: true, claims: {}, json: '{}' });
  });

  it('knows no claim that is not given', () => {
    const parsed = parseClaims({ org_id: 'north' });
    expect(parsed.ok && parsed.claims['constructor']).toBe(undefined);
  });

  it.each<[unknown, string]>([
    [undefined, ' is not an object'],
    [[], ' is not an object'],
    [{ org_id: '' }, 'org_id is not accepted'],
    [{ org_id: null }, 'org_id is not accepted'],
    [{ org_id: {} }, 'org_id is not accepted'],
    [{ org_id: [1] }, 'org_id is not accepted'],
    [{ org_id: ['a', ''] }, 'org_id is not accepted'],
    [{ org_id: 2 ** 53 }, 'org_id is not accepted'],
    [{ org_id: Number.NaN }, 'org_id is not accepted'],
    [{ org_id: 'a\0' }, 'org_id is not accepted'],
    [{ org_id: '\ud800' }, 'org_id is not accepted'],
    [{ 'org-id': 'a' }, 'org-id is not accepted; accepted: a name of'],
    [{ [`a${'b'.repeat(63)}`]: 'a' }, 'is not accepted; accepted: a name of'],
    [{ a: 'é'.repeat(4093) }, ' is too long; accepted: at most 8192 bytes of JSON'],
  ])('refuses %j', (value, problem) => {
    expect(problemsOf(value)).toEqual([expect.stringContaining(problem)]);
  });

  it('takes 8 KiB of JSON', () => {
    expect(parseClaims({ a: 'é'.repeat(4092) })).toMatchObject({ ok: true });
  });
});
