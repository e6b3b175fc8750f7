/** A name as it stands in SQL, whatever it holds. */
export function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}
