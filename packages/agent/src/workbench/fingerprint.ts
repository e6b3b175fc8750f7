import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Of what a file holds; of a file that cannot be read it is always the same. */
export function fingerprint(content: Uint8Array | undefined): string {
  return content === undefined ? '' : createHash('sha256').update(content).digest('base64');
}

/** Undefined where it cannot be read. */
export function contentOf(name: string): Uint8Array | undefined {
  try {
    return readFileSync(name);
  } catch {
    return undefined;
  }
}
