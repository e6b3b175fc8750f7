import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/** Descriptors that are kept for what this process must do even when connections have taken all others. */
export interface DescriptorReserve {
  /** Runs `work` with the reserve free, and then takes it again, as far as that is possible. */
  spend<T>(work: () => T): T;
}

export function createDescriptorReserve(size: number): DescriptorReserve {
  const kept: number[] = [];

  function fill(): void {
    try {
      while (kept.length < size) kept.push(openSync(devNull, 'r'));
    } catch {
      // There are none at present; the next time there may be.
    }
  }

  fill();
  return {
    spend(work) {
      for (const descriptor of kept.splice(0)) closeSync(descriptor);
      try {
        return work();
      } finally {
        fill();
      }
    },
  };
}
