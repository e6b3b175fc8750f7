import type { Checked } from '../reload/reloader.ts';
import { checkInChildProcess } from '../start-up/child-process.ts';
import { readonlyAccountFaults } from './with-checked-file.ts';

/** The checks of a start, for an agent that runs. */
export async function checkAgain(file: string, stop: AbortSignal): Promise<Checked> {
  const outcome = await checkInChildProcess({ file, offline: false }, () => {}, stop);
  if (outcome.step === 'malformed' || outcome.step === 'refused') return { faults: outcome.faults };
  if (outcome.step === 'readable') throw new Error('cannot reload: the database has not been asked');
  const { verified, findings } = outcome;
  const faults = readonlyAccountFaults(verified.config, findings);
  return faults.length > 0 ? { faults } : { verified };
}
