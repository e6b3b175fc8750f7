import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export interface SessionIds {
  /** A new one for a client of this principal. */
  issue(principalId: string): string;
  /** Whether this process has issued the id to a client of this principal. */
  isIssued(id: string, principalId: string): boolean;
}

/** The one service of a gateway. */
const SERVICE = 'default';
const NONCE_BYTES = 16;

/** What every issued id looks like: 48 bytes as base64url. */
export const SESSION_ID_FORM: RegExp = /^[\w-]{64}$/;

/** Ids that say themselves whom they were issued to, so that no session needs to be remembered. */
export function createSessionIds(secret: Uint8Array): SessionIds {
  function signature(nonce: Uint8Array, principalId: string): Buffer {
    return createHmac('sha256', secret).update(nonce).update(`${SERVICE}\0${principalId}`).digest();
  }
  return {
    issue(principalId) {
      const nonce = randomBytes(NONCE_BYTES);
      return Buffer.concat([nonce, signature(nonce, principalId)]).toString('base64url');
    },
    isIssued(id, principalId) {
      if (!SESSION_ID_FORM.test(id)) return false;
      const bytes = Buffer.from(id, 'base64url');
      const nonce = bytes.subarray(0, NONCE_BYTES);
      return timingSafeEqual(bytes.subarray(NONCE_BYTES), signature(nonce, principalId));
    },
  };
}
