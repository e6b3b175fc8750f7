/** `AT+JWT` and `application/at+jwt` mean the same as `at+jwt`. */
export function normalizeType(type: string): string {
  return type.toLowerCase().replace(/^application\//, '');
}
