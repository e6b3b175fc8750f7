import type { Problem } from '@svc/identity';

/** A problem behind the path of its field, like `grants[0].scope is missing`. */
export function problemText({ path, message }: Problem): string {
  const field = path
    .map((step, at) => {
      if (typeof step === 'number') return `[${step}]`;
      return at === 0 ? step : `.${step}`;
    })
    .join('');
  return field === '' ? message : `${field} ${message}`;
}
