import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FileDigests } from './report.ts';

export function fileDigest(content: Uint8Array): string {
  return hash('sha256', content, 'base64');
}

export function unreadableDigest(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
}

/** Reads files and keeps their digests. `content` replaces reading `file`, unless it is undefined. */
export function digestingReader(
  file: string,
  content: Uint8Array | undefined,
  read: (name: string) => Uint8Array = (name) => readFileSync(name),
): { readonly readFile: (name: string) => Uint8Array; readonly files: FileDigests } {
  const files: Record<string, string> = {};
  return {
    files,
    readFile(name) {
      try {
        const bytes = name === file && content !== undefined ? content : read(name);
        files[name] = fileDigest(bytes);
        return bytes;
      } catch (error) {
        files[name] = unreadableDigest(error);
        throw error;
      }
    },
  };
}
