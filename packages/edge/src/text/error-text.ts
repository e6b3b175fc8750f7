/** The message of an error. When all addresses of a name fail, Node throws one error without a message that holds theirs. */
export function errorText(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(errorText).join('; ');
  return error instanceof Error ? error.message : String(error);
}
