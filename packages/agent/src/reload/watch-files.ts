import { fileDigest, unreadableDigest } from '../start-up/file-digest.ts';
import { readRegularFileLater } from '../start-up/read-regular-file.ts';
import type { FileDigests } from '../start-up/report.ts';

export interface FileWatch {
  close(): void;
}

export interface WatchOptions {
  /** The digests at the last check. */
  readonly checked: () => FileDigests;
  /** The files have changed. They are not looked at until this has resolved. */
  readonly onChange: () => Promise<unknown>;
  readonly intervalMs?: number;
  readonly settleMs?: number;
}

const INTERVAL_MS = 1000;
/** A file may be written in parts: changes are taken up when the files have stayed the same for so long. */
const SETTLE_MS = 100;

/**
 * Compares the contents of files with those that were checked, every second. The operating system does not report all ways
 * in which files are replaced and links changed.
 */
export function watchFiles({
  checked,
  onChange,
  intervalMs = INTERVAL_MS,
  settleMs = SETTLE_MS,
}: WatchOptions): FileWatch {
  let closed = false;
  let timer = setTimeout(look, intervalMs);

  async function settled(paths: readonly string[]): Promise<FileDigests> {
    for (let before = ''; ;) {
      const digests = await digestsOf(paths);
      const now = JSON.stringify(digests);
      if (closed || now === before) return digests;
      before = now;
      await new Promise((resolve) => setTimeout(resolve, settleMs));
    }
  }

  async function lookOnce(): Promise<void> {
    const paths = Object.keys(checked());
    if (!isOther(checked(), await digestsOf(paths))) return;
    if (isOther(checked(), await settled(paths)) && !closed) await onChange();
  }

  function look(): void {
    void lookOnce().then(() => {
      if (!closed) timer = setTimeout(look, intervalMs);
    });
  }

  return {
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

function isOther(before: FileDigests, now: FileDigests): boolean {
  return Object.entries(before).some(([path, digest]) => now[path] !== digest);
}

async function digestsOf(paths: readonly string[]): Promise<FileDigests> {
  const digest = async (path: string): Promise<readonly [string, string]> => {
    try {
      return [path, fileDigest(await readRegularFileLater(path))];
    } catch (error) {
      return [path, unreadableDigest(error)];
    }
  };
  return Object.fromEntries(await Promise.all(paths.map(digest)));
}
