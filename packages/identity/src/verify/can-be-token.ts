/** What bcrypt reads of a key ends there, so no key is longer. */
const KEY_MAX_LENGTH = 72;

/** Whether a credential is a token, good or bad, and not an API key. */
export function canBeToken(credential: string): boolean {
  return credential.length > KEY_MAX_LENGTH;
}
