/** What rows are written as when the caller would rather have it than JSON. */
export type AnswerFormat = 'csv' | 'ndjson';

const MEDIA_TYPES: ReadonlyMap<string, AnswerFormat> = new Map([
  ['text/csv', 'csv'],
  ['application/x-ndjson', 'ndjson'],
]);
/** Nearly all callers name neither, and nothing more is read of what they send. */
const NAMED = /text\/csv|application\/x-ndjson/i;
const QUALITY = /^q=(?:(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))$/;

/**
 * The format that `Accept` names with a greater weight than JSON and than whatever else the caller takes: the first of
 * the greatest weight. Undefined for JSON.
 */
export function formatWanted(accept: string | undefined): AnswerFormat | undefined {
  if (accept === undefined || !NAMED.test(accept)) return undefined;
  const weights = weightsOf(accept.toLowerCase());
  const json = weights.get('application/json') ?? weights.get('application/*') ?? 0;
  let least = Math.max(json, weights.get('*/*') ?? 0);
  let wanted: AnswerFormat | undefined;
  for (const [type, weight] of weights) {
    const format = MEDIA_TYPES.get(type);
    if (format === undefined || weight <= least) continue;
    [wanted, least] = [format, weight];
  }
  return wanted;
}

/** Of each media range, in their order. One with a weight that is none counts as not taken. */
function weightsOf(accept: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((piece) => piece.trim());
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    const weight = quality === undefined ? 1 : Number(QUALITY.exec(quality)?.[1] ?? 0);
    if (!weights.has(type)) weights.set(type, weight);
  }
  return weights;
}
