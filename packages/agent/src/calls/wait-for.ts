import type { AbortSignalLike } from '@svc/edge';

/**
 * Resolves with what `settle` is called with, with `late` after `waitMs`, or with `aborted`: whichever comes first. `begin`
 * begins the wait and returns the function that ends it, which is called with the outcome, and may be called again.
 */
export function waitFor<T>(
  waitMs: number,
  signal: AbortSignalLike,
  begin: (settle: (outcome: T | Promise<T>) => void) => (outcome: unknown) => void,
): Promise<T | 'late' | 'aborted'> {
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
    if (signal.aborted) onAbort();
  });
}
