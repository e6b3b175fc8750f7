import type { VerificationFault } from '../databases/driver/errors.ts';
import { watchFiles } from '../reload/watch-files.ts';
import type { FileDigests } from '../start-up/report.ts';

export interface SaveEnd {
  /** Empty if the save has passed. */
  readonly faults: readonly VerificationFault[];
  show(): void;
}

export type WatchSaves = (take: () => Promise<SaveEnd | undefined>) => void;

export interface SaveWatchOptions {
  /** The files as they were at the last check. */
  readonly checked: () => FileDigests;
  /** Checks a save and serves it; undefined while the workbench ends. */
  readonly take: () => Promise<SaveEnd | undefined>;
}

const INTERVAL_MS = 100;
const SETTLE_MS = 50;
/** A database that can be used again changes no file. */
const TRY_AGAIN_MS = 2000;

/** Takes one save after another and shows the result. A retry with the same faults shows nothing. */
export function watchSaves({ checked, take }: SaveWatchOptions): { close(): void } {
  let current: Promise<void> = Promise.resolve();
  let tryAgain: NodeJS.Timeout | undefined;
  let shown = '';
  let closed = false;

  async function run(isAgain: boolean): Promise<void> {
    clearTimeout(tryAgain);
    const end = await take().catch((error: unknown) => {
      // Closing ends the process that checks.
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
