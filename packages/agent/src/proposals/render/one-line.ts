/** Replaces line breaks and invisible characters by spaces. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
}

export function shortened(text: string, maxLength: number): string {
  const line = Array.from(oneLine(text));
  return line.length <= maxLength
    ? line.join('')
    : `${line
        .slice(0, maxLength - 3)
        .join('')
        .trimEnd()}...`;
}
