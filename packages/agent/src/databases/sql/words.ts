/** The words of a text, which white space separates. */
export function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/** A table that gives `value` for each of the words. */
export function each<Value>(text: string, value: Value): Readonly<Record<string, Value>> {
  return Object.fromEntries([...words(text)].map((word) => [word, value]));
}
