import { contentOf, fingerprint } from './fingerprint.ts';
import type { ReadRecord } from './warm-report.ts';

export interface FileWatch {
  /** What these files held when they were read last: from now on they are watched, and no others. */
  read(files: readonly ReadRecord[]): void;
  close(): void;
}

/** Often enough that nobody waits for it. */
const INTERVAL_MS = 100;

/**
 * Calls back when a file holds something else than when it was read, and holds it still a moment later: editors write in
 * pieces. Contents are compared, for links change their target without any event that a watcher of a folder sees.
 */
export function watchFiles(onChange: () => void): FileWatch {
  let known: readonly ReadRecord[] = [];
  let before = '';

  function look(): void {
    const now = known.map(({ name }) => fingerprint(contentOf(name)));
    if (now.every((each, index) => each === known[index]?.fingerprint)) {
      before = '';
      return;
    }
    const changed = now.join();
    if (changed !== before) {
      before = changed;
      return;
    }
    // Until what is there now has been read.
    known = [];
    before = '';
    onChange();
  }

  const timer = setInterval(look, INTERVAL_MS);
  return {
    read: (files) => void (known = files),
    close: () => clearInterval(timer),
  };
}
