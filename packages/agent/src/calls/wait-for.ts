import type { AbortSignalLike } from '@svc/edge';

/**
 * Resolves with the first outcome: what `settle` is called with, that `waitMs` are over, or that the signal is aborted.
 * `begin` begins to wait, and returns what ends the waiting, whatever the outcome; it may be called again.
 */
export function waitFor<T>(
  waitMs: number,
  signal: AbortSignalLike,
  begin: (settle: (outcome: T | Promise<T>) => void) => (outcome: unknown) => void,
): Promise<T | 'late' | 'aborted'> {
  if (signal.aborted) return Promise.resolve('aborted');
  return new Promise((resolve) => {
    const settle = (outcome: T | Promise<T> | 'late' | 'aborted'): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      end(outcome);
      resolve(outcome);
    };
    const onAbort = (): void => settle('aborted');
    const timer = setTimeout(() => settle('late'), waitMs);
    signal.addEventListener('abort', onAbort);
    const end = begin(settle);
  });
}
