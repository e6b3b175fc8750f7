const ALPHABET = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const FORM =
  /^(\$2[aby]\$(?:0[4-9]|1[0-6])\$[./A-Za-z0-9]{21})([./A-Za-z0-9])([./A-Za-z0-9]{30})([./A-Za-z0-9])$/;

/**
 * Checks a bcrypt hash: `$2a$`, `$2b$` or `$2y$`, cost 4 to 16, 22 characters of salt, 31 of digest.
 * Undefined for anything else, since libraries answer a bad hash with a silent "no match". Verification
 * compares text, so the unused low bits of the last salt and digest characters are cleared here.
 */
export function canonicalBcryptHash(text: string): string | undefined {
  const [, start, saltEnd, digest, digestEnd] = FORM.exec(text) ?? [];
  if (start === undefined || saltEnd === undefined || digest === undefined || digestEnd === undefined) {
    return undefined;
  }
  return start + clearLowBits(saltEnd, 4) + digest + clearLowBits(digestEnd, 2);
}

function clearLowBits(char: string, bits: number): string {
  return ALPHABET.charAt((ALPHABET.indexOf(char) >> bits) << bits);
}
