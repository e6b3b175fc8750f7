import { createByteBudget } from '@svc/edge';

/**
 * Bounds the memory of all large results. Memory for a whole result is reserved before more than its first window may be
 * sent, first come first served, so that partly received results can never block each other.
 */
export interface ResultBudget {
  /** Calls `granted` at once, or when others have released enough. The returned release may be called at any time. */
  reserve(bytes: number, granted: () => void): () => void;
  readonly reservedBytes: number;
}

/** `totalBytes` must be at least the largest result. */
export function createResultBudget(totalBytes: number): ResultBudget {
  const budget = createByteBudget<undefined>(totalBytes);
  return {
    reserve: (bytes, granted) => budget.reserve(bytes, granted, undefined).release,
    get reservedBytes() {
      return budget.reservedBytes;
    },
  };
}
