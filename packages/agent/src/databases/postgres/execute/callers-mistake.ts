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

/** What is wrong with a value that a function has refused. */
export function reasonOf(state: string): string {
  if (state === '2201B') return 'it is no valid regular expression';
  return REFUSED_ARGUMENT[state] ?? 'it is no value that the query takes';
}

/**
 * What a caller is told to change where the query failed by a value that each parameter alone took; undefined where the
 * failure is not the caller's, or there are no parameters.
 */
export function callersMistake(state: string | undefined, params: readonly string[]): string | undefined {
  const reason = state === undefined ? undefined : REFUSED_ARGUMENT[state];
  return reason === undefined || params.length === 0 ? undefined : `${params.join(', ')}: ${reason}`;
}
