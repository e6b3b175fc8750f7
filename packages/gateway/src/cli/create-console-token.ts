import { createHash } from 'node:crypto';

export interface ConsoleToken {
  /** For whoever opens the console. */
  readonly token: string;
  /** Hex, for GATEWAY_CONSOLE_TOKEN_SHA256. */
  readonly sha256: string;
}

const TOKEN_BYTES = 32;

export function createConsoleToken(randomBytes: (size: number) => Buffer): ConsoleToken {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  return { token, sha256: createHash('sha256').update(token).digest('hex') };
}
