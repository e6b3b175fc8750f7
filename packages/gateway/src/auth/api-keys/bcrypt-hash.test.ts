import { compareSync, hashSync } from 'bcryptjs';
import { describe, expect, it } from 'vitest';
import { canonicalBcryptHash } from './bcrypt-hash.ts';

describe('canonicalBcryptHash', () => {
  it('keeps what bcrypt makes', () => {
    const made = hashSync('plaintext', 4);
    expect(canonicalBcryptHash(made)).toBe(made);
  });

  it('clears unused bits, so that a hash written elsewhere still matches', () => {
    const made = hashSync('plaintext', 4);
    const saltEnd = made.charAt(28);
    const digestEnd = made.charAt(59);
    const odd = `${made.slice(0, 28)}${next(saltEnd)}${made.slice(29, 59)}${next(digestEnd)}`;
    expect(compareSync('plaintext', odd)).toBe(false);
    expect(compareSync('plaintext', canonicalBcryptHash(odd) ?? '')).toBe(true);
  });
});

/** The next character of bcrypt's alphabet: differs in the lowest bit, since made ones have it clear. */
function next(char: string): string {
  const alphabet = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  return alphabet.charAt(alphabet.indexOf(char) + 1);
}
