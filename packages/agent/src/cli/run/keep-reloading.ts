import type { LinkOverride } from '../../config/load.ts';
import type { RunningAgent } from '../../runtime/agent.ts';
import { isDatabaseAway } from '../../databases/driver/errors.ts';
import { createReloading } from '../../reload/await-databases.ts';
import { keepServed } from '../../reload/keep-served.ts';
import type { Checked } from '../../reload/reloader.ts';
import { reverifyNowAndThen } from '../../reload/reverify-now-and-then.ts';
import { watchFiles } from '../../reload/watch-files.ts';
import { askChildProcess, checkInChildProcess } from '../../start-up/child-process.ts';
import { createNewsOf, type Found } from '../../reload/found-records.ts';
import type { FileDigests } from '../../start-up/report.ts';
import { readonlyAccountFaults } from '../../start-up/readonly-account.ts';

export interface ReloadingAgent {
  readonly agent: RunningAgent;
  readonly file: string;
  /** What the checks at the start found and the log already has. */
  readonly found: Found;
  /** The files that were read for the start. */
  readonly files: FileDigests;
  readonly watch: boolean;
  /** Where users see what an account may do; absent: the log file. */
  readonly lister?: string | undefined;
  /** As in `StartUpOrder`. */
  readonly link?: LinkOverride | undefined;
}

/** A reload is tried again if the database could not be used: no file changes when it can. */
const TRY_AGAIN_MS = 30_000;

/** Reloads the capability file and the files that it names, when told to or when they change. */
export function keepReloading({ agent, file, found, files, watch, lister, link }: ReloadingAgent): {
  reload(): void;
  close(): void;
} {
  const { observe } = agent;
  const tellNewsOf = createNewsOf(found, observe);
  let checked = files;
  let tryAgain: NodeJS.Timeout | undefined;

  async function check(stop: AbortSignal): Promise<Checked> {
    const outcome = await checkInChildProcess(
      { file, offline: false, toleratesAway: true, isRunning: true, link },
      (report) => {
        checked = report.files;
      },
      stop,
    );
    if (outcome.step === 'malformed') checked = outcome.files;
    if (outcome.step === 'malformed' || outcome.step === 'refused') return { faults: outcome.faults };
    if (outcome.step === 'readable') throw new Error('cannot reload: the database has not been asked');
    const { verified, findings } = outcome;
    const isAccountNews = tellNewsOf(outcome);
    const faults = readonlyAccountFaults(verified.config, findings, lister);
    if (faults.length > 0) return { faults };
    if (isAccountNews) observe({ event: 'account_audited', findings: findings.length });
    const kept = keepServed(agent.verified, verified);
    if (!kept.isDescriptionStale) return kept;
    const { description } = await askChildProcess({ arrived: [], served: kept.verified }, stop);
    return { verified: { ...kept.verified, description } };
  }

  async function reloadChanged(): Promise<void> {
    clearTimeout(tryAgain);
    const end = await reloading.reload('watch');
    if (end === undefined || !('faults' in end) || !end.faults.some(isDatabaseAway)) return;
    tryAgain = setTimeout(() => void reloadChanged(), TRY_AGAIN_MS);
  }

  const reloading = createReloading({
    agent,
    check,
    onFound(found) {
      if (tellNewsOf(found, true)) observe({ event: 'account_audited', findings: found.findings.length });
    },
  });
  const watching = watch ? watchFiles({ checked: () => checked, onChange: reloadChanged }) : undefined;
  const reverifying = reverifyNowAndThen(() => agent.verified, observe, reloading.sharing);
  return {
    reload: () => void reloading.reload('SIGHUP'),
    close() {
      clearTimeout(tryAgain);
      watching?.close();
      reverifying.close();
      reloading.close();
    },
  };
}
