import type { VerificationFault } from '../databases/driver/errors.ts';
import { watchFiles } from '../reload/watch-files.ts';
import type { FileDigests } from '../start-up/report.ts';

/** What became of a save. */
export interface SaveEnd {
  /** Empty where it has passed. */
  readonly faults: readonly VerificationFault[];
  show(): void;
}

/** Watches what was read, until everything ends. */
export type WatchSaves = (take: () => Promise<SaveEnd | undefined>) => void;

export interface SaveWatchOptions {
  /** As it was when it was checked last. */
  readonly checked: () => FileDigests;
  /** Undefined where everything ends. */
  readonly take: () => Promise<SaveEnd | undefined>;
}

/** Often enough that nobody waits for it. */
const INTERVAL_MS = 100;
const SETTLE_MS = 50;
/** No file changes when a database can be used again. */
const TRY_AGAIN_MS = 2000;

/** Takes each save, one at a time, and shows what became of it, once where it is tried again and nothing is different. */
export function watchSaves({ checked, take }: SaveWatchOptions): { close(): void } {
  let current: Promise<void> = Promise.resolve();
  let tryAgain: NodeJS.Timeout | undefined;
  let shown = '';
  let closed = false;

  async function run(isAgain: boolean): Promise<void> {
    clearTimeout(tryAgain);
    const end = await take().catch((error: unknown) => {
      // The end takes along what checks.
      if (!closed) throw error;
    });
    if (end === undefined || closed) return;
    const text = JSON.stringify(end.faults);
    if (!isAgain || text !== shown) end.show();
    shown = text;
    if (end.faults.some(({ path }) => path === 'database'))
      tryAgain = setTimeout(() => void follow(true), TRY_AGAIN_MS);
  }

  function follow(isAgain: boolean): Promise<void> {
    current = current.then(() => run(isAgain));
    return current;
  }

  const watch = watchFiles({
    checked,
    onChange: () => follow(false),
    intervalMs: INTERVAL_MS,
    settleMs: SETTLE_MS,
  });
  return {
    close() {
      closed = true;
      clearTimeout(tryAgain);
      watch.close();
    },
  };
}
