import { describe, expect, it } from 'vitest';
import { parseCidr } from './cidr.ts';

describe('parseCidr', () => {
  it.each([
    '',
    'bogus',
    '10.0.0',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0.0/8.0',
    '010.0.0.0/8',
    '::/129',
    'fe80::1%eth0',
    '10.0.0.0 /8',
    '10.0.0.0/0x8',
  ])('refuses %j', (text) => {
    expect(parseCidr(text).ok).toBe(false);
  });

  it.each([
    ['10.0.0.1/8', '10.0.0.0/8'],
    ['2001:db8::1/32', '2001:db8::/32'],
    ['::ffff:10.0.0.1/104', '10.0.0.0/8'],
  ])('refuses the host bits of %s and suggests %s', (text, suggestion) => {
    expect(parseCidr(text)).toEqual({ ok: false, problems: [expect.stringContaining(suggestion)] });
  });

  it('refuses a mapped network that reaches beyond IPv4', () => {
    expect(parseCidr('::ffff:0:0/95').ok).toBe(false);
    expect(parseCidr('::ffff:0:0/96').ok).toBe(true);
  });
});
