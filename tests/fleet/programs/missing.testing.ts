/**
 * Whether tests have to be skipped because the machine lacks something, which is told by name: of each thing that they
 * need, why it is not there, or undefined.
 */
export function missing(what: string, needs: Readonly<Record<string, string | undefined>>): boolean {
  const lacking = Object.entries(needs).flatMap(([name, reason]) =>
    reason === undefined ? [] : [`${name} (${reason})`],
  );
  if (lacking.length > 0) process.stderr.write(`\nSKIPPED: ${what}, for want of ${lacking.join(', ')}\n`);
  return lacking.length > 0;
}
