import { createHash } from 'node:crypto';
import type { Issuer } from './issuer.ts';

/** 132 bits: nobody finds two subjects with one hash. */
const HASH_LENGTH = 22;

/** Both programs identify a token's caller by this. No other subject, issuer or key has the same. */
export function tokenPrincipalId(issuer: Issuer, subject: string): string {
  return `token:${issuer.name}:${loggedSubject(issuer, subject)}`;
}

export function loggedSubject({ logSubject }: Issuer, subject: string): string {
  return logSubject
    ? subject
    : createHash('sha256').update(subject).digest('base64url').slice(0, HASH_LENGTH);
}
