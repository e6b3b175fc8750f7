/** What is wrong within a value, and where: keys and indexes, none for the value as a whole. */
export interface ValueProblem {
  readonly at: readonly (string | number)[];
  /** Never holds the value. */
  readonly message: string;
}

/**
 * Why a value parsed from JSON cannot be bound, undefined when it can: it holds text that a database may not be able to
 * store.
 */
export function textProblemIn(value: unknown): ValueProblem | undefined {
  if (typeof value === 'string') return whole(textProblem(value));
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const problem = within(index, value[index]);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  for (const [key, part] of Object.entries(value)) {
    // A key at fault is not repeated: its object is named.
    const problem = whole(textProblem(key)) ?? within(key, part);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function within(step: string | number, part: unknown): ValueProblem | undefined {
  const problem = textProblemIn(part);
  return problem === undefined ? undefined : { ...problem, at: [step, ...problem.at] };
}

function whole(message: string | undefined): ValueProblem | undefined {
  return message === undefined ? undefined : { at: [], message };
}

function textProblem(text: string): string | undefined {
  if (text.includes('\0') || /\p{Surrogate}/u.test(text)) {
    return 'must not hold the character U+0000 or half a surrogate pair';
  }
  return undefined;
}
