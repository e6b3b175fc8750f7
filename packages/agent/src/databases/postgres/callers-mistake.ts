/** SQLSTATEs by which functions and clauses refuse an argument, rather than the data: another value may well pass. */
const REFUSED_ARGUMENT: Readonly<Record<string, string>> = {
  '2201W': 'a row count must not be negative',
  '2201X': 'a row offset must not be negative',
  '2202G': 'the seed of a sample must not be null',
  '2202H': 'the size of a sample is out of range',
  '22007': 'it is no valid date or time',
  '22008': 'a date or time is out of range',
  '22009': 'it is no valid time zone',
  '22023': 'it is no value that the query takes',
};

/**
 * What a caller is told to mend where the query failed by a value that each parameter alone took: the parameters that
 * have one, and why. Undefined where the failure is not the caller's, or there is nothing to mend.
 */
export function callersMistake(
  state: string | undefined,
  values: readonly { readonly name: string; readonly text: string | null }[],
): string | undefined {
  const reason = state === undefined ? undefined : REFUSED_ARGUMENT[state];
  if (reason === undefined || values.length === 0) return undefined;
  const given = values.filter(({ text }) => text !== null);
  const names = (given.length > 0 ? given : values).map(({ name }) => name);
  return `${names.join(', ')}: ${reason}`;
}
