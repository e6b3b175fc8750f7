import { hash } from 'node:crypto';

/** Equal for files that hold the same, and for those that cannot be read for the same reason. */
export function fileDigest(content: Uint8Array): string {
  return hash('sha256', content, 'base64');
}

export function unreadableDigest(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
}
