import { hash } from 'node:crypto';
import { constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { ReadFile } from '../config/read-settings.ts';

export interface FileWatch {
  /** Looks now, in addition to every two seconds. */
  look(): void;
  close(): void;
}

type Content = { readonly bytes: Buffer } | { readonly error: unknown };

const INTERVAL_MS = 2000;
/** Without O_NONBLOCK, opening a pipe in place of a file would never end. */
const READ_ONLY = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * Calls `onContent` at the first look, and whenever the contents differ from those of the look before. Nothing but the
 * contents counts, in whatever way files are replaced, links changed and clocks set.
 */
export function watchFiles(
  paths: readonly string[],
  onContent: (readNow: ReadFile) => void,
  intervalMs: number = INTERVAL_MS,
): FileWatch {
  let seen: string | undefined;
  let looking = false;
  let lookAgain = false;
  let closed = false;
  const timer = setInterval(look, intervalMs).unref();

  function look(): void {
    if (looking) {
      // The contents being read may be older than those that the caller wants to be seen.
      lookAgain = true;
      return;
    }
    looking = true;
    void Promise.all(paths.map(contentOf)).then((contents) => {
      looking = false;
      if (closed) return;
      const digest = contents.map(digestOf).join(' ');
      if (digest !== seen) {
        seen = digest;
        onContent((path) => textOf(contents[paths.indexOf(path)]));
      }
      if (!lookAgain) return;
      lookAgain = false;
      look();
    });
  }

  look();
  return {
    look,
    close() {
      closed = true;
      clearInterval(timer);
    },
  };
}

async function contentOf(path: string): Promise<Content> {
  try {
    return { bytes: await readFile(path, { flag: READ_ONLY }) };
  } catch (error) {
    return { error };
  }
}

function digestOf(content: Content): string {
  if ('bytes' in content) return hash('sha256', content.bytes, 'base64');
  const { error } = content;
  return error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
}

function textOf(content: Content | undefined): string {
  if (content === undefined) throw new Error('the file is not watched');
  if ('error' in content) throw content.error;
  return content.bytes.toString();
}
