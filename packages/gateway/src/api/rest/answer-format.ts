export type AnswerFormat = 'csv' | 'ndjson';

const MEDIA_TYPES: ReadonlyMap<string, AnswerFormat> = new Map([
  ['text/csv', 'csv'],
  ['application/x-ndjson', 'ndjson'],
]);
/** Nearly all callers name neither; their header is not read further. */
const NAMED = /text\/csv|application\/x-ndjson/i;
const QUALITY = /^q=(?:(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))$/;

/** The first format that `Accept` gives the greatest weight, if that is more than for JSON or anything. Undefined for JSON. */
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

/** The weight of each media range, in order. A malformed weight counts as 0. */
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
