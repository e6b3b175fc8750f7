/** `raw` alternates names and values, as `IncomingMessage.rawHeaders` does. */
export function withoutHeader(raw: readonly string[], name: string): string[] {
  return raw.flatMap((text, at) =>
    at % 2 === 0 && text.toLowerCase() !== name.toLowerCase() ? [text, raw[at + 1] ?? ''] : [],
  );
}
