/** One fault of a configuration, and where it stands. */
export interface Problem {
  /** Names of fields and places in lists; empty for the whole value. */
  readonly path: readonly (string | number)[];
  /** Goes on where the name of the field ends: what is wrong with it, and what is accepted; never a secret. */
  readonly message: string;
}

/** Where a value stands. Whoever reads it reports each fault here and goes on with any value of the right type. */
export interface Place {
  at(step: string | number): Place;
  fault(message: string): void;
}

/** All faults found at `path` and inside it go to `problems`. */
export function createPlace(problems: Problem[], path: Problem['path'] = []): Place {
  return {
    at(step) {
      return createPlace(problems, [...path, step]);
    },
    fault(message) {
      problems.push({ path, message });
    },
  };
}
