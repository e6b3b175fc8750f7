/** One fault of a configuration, and where it stands. */
export interface Problem {
  /** Names of fields and places in lists; empty for the whole value. */
  readonly path: readonly (string | number)[];
  /** Follows the name of the field: what is wrong with it, and what is accepted. Never holds a secret. */
  readonly message: string;
}

/** The place of a value. A reader reports each fault here and continues with any value of the right type. */
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
