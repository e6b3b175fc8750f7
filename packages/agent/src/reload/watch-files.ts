import { watchFiles as watch, type FileWatch } from '@svc/edge';
import { fileDigest, unreadableDigest } from '../start-up/file-digest.ts';
import { readRegularFileLater } from '../start-up/read-regular-file.ts';
import type { FileDigests } from '../start-up/report.ts';

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

/** Tells each second whether files hold something else than when they were checked. */
export function watchFiles({
  checked,
  onChange,
  intervalMs = INTERVAL_MS,
  settleMs = SETTLE_MS,
}: WatchOptions): FileWatch {
  return watch({
    read: () => digestsOf(Object.keys(checked())),
    isNews: (digests) => isOther(checked(), digests),
    onNews: onChange,
    intervalMs,
    settleMs,
  });
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
