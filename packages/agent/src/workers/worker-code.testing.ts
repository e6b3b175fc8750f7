import type { OwnCode } from '@svc/edge';
import { engineCodeOf } from '../databases/engine-process/engine-code.testing.ts';

/** The code of a worker, as the executable holds it. */
export function workerCode(): Promise<OwnCode> {
  const entry = new URL('../worker-child.ts', import.meta.url);
  return engineCodeOf('internal-worker', entry, ['pg-native', './verifier.ts']);
}
