/** The text form of a text[], or of an array whose elements have these text forms; null is NULL. */
export function textArray(elements: readonly (string | null)[]): string {
  // Quotes keep the text NULL, an empty text and braces what they are.
  const quoted = elements.map((text) =>
    text === null ? 'NULL' : `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`,
  );
  return `{${quoted.join(',')}}`;
}
