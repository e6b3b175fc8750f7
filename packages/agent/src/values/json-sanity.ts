/**
 * Why a value parsed from JSON cannot be bound unchanged, undefined when it can: it holds a number that
 * was rounded when it was parsed, or text that PostgreSQL cannot store.
 */
export function jsonProblem(value: unknown): string | undefined {
  if (typeof value === 'string') return textProblem(value);
  if (typeof value === 'number') return numberProblem(value);
  if (typeof value !== 'object' || value === null) return undefined;
  const inner = Array.isArray(value) ? value : [...Object.keys(value), ...Object.values(value)];
  for (const part of inner) {
    const problem = jsonProblem(part);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function textProblem(text: string): string | undefined {
  if (text.includes('\0') || /\p{Surrogate}/u.test(text)) {
    return 'must not hold the character U+0000 or half a surrogate pair';
  }
  return undefined;
}

function numberProblem(number: number): string | undefined {
  if (Number.isSafeInteger(number) || (Number.isFinite(number) && !Number.isInteger(number)))
    return undefined;
  return 'must be between -9007199254740991 and 9007199254740991';
}
