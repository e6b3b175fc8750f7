import { joinPieces } from '@svc/protocol';
import type { CallResult } from '../../calls/call-capability.ts';
import { takesGzip, type Compressor } from '../../http/compress.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { AnswerPart } from '../../http/response-writer.ts';
import { csvLines, jsonLines } from './row-formats.ts';

type AnswerFormat = 'csv' | 'ndjson';

const FORMATS: ReadonlyMap<string, AnswerFormat> = new Map([
  ['text/csv', 'csv'],
  ['application/x-ndjson', 'ndjson'],
]);
/** Nearly all callers name neither; their header is not read further. */
const NAMED = /text\/csv|application\/x-ndjson/i;
const QUALITY = /^q=(?:(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))$/;

export interface SendResultOptions {
  readonly fieldsOf: (capability: string) => readonly string[];
  readonly compressor: Compressor | undefined;
}

interface Body {
  readonly headers: readonly string[];
  readonly parts: Iterable<AnswerPart>;
  /** The length of all parts; undefined when they are made as the caller takes them. */
  readonly bytes: number | undefined;
}

/** Longer rows are converted as the caller takes them. */
const WHOLE_MAX_BYTES = 65_536;
const COMPRESSED_MIN_BYTES = 16_384;
/** Some clients accept only 8 KiB of headers. */
const NEXT_HEADER_MAX_BYTES = 4096;

export function sendResult(
  exchange: Exchange,
  capability: string,
  result: CallResult,
  { fieldsOf, compressor }: SendResultOptions,
): void {
  const { accept, repeated } = exchange.headers;
  const format = formatWanted(accept);
  if (format === undefined || repeated.includes('accept')) {
    const parts = jsonParts(result);
    if (compressor === undefined) exchange.send(200, [], parts, result.release);
    else send(exchange, { headers: [], parts, bytes: bytesOf(parts) }, result.release, compressor);
    return;
  }
  const { buffer, byteOffset, byteLength } = joinPieces(result.rows);
  const rows = Buffer.from(buffer, byteOffset, byteLength);
  const names = result.count === 0 ? fieldsOf(capability) : [];
  const pieces = format === 'csv' ? csvLines(rows, names) : jsonLines(rows);
  const headers = formatHeaders(exchange, format, capability, result);
  if (rows.length > WHOLE_MAX_BYTES) {
    send(exchange, { headers, parts: pieces, bytes: undefined }, result.release, compressor);
  } else {
    const parts = [...pieces];
    send(exchange, { headers, parts, bytes: bytesOf(parts) }, result.release, compressor);
  }
}

function jsonParts({ rows, count, truncated, next }: CallResult): readonly AnswerPart[] {
  const tail = `,"count":${count}${truncated ? ',"truncated":true' : ''}`;
  // Unlike the rest, `next` may hold characters beyond ASCII.
  return ['{"rows":', ...rows, next === undefined ? `${tail}}` : Buffer.from(`${tail},"next":${next}}`)];
}

const MEDIA_TYPES: Readonly<Record<AnswerFormat, string>> = {
  csv: 'text/csv; charset=utf-8',
  ndjson: 'application/x-ndjson',
};
const EXPOSED_HEADERS = 'Svc-Row-Count, Svc-Truncated, Svc-Next, Content-Disposition';

/** Including what JSON has beside the rows. */
function formatHeaders(
  { cors }: Exchange,
  format: AnswerFormat,
  capability: string,
  { count, truncated, next }: CallResult,
): readonly string[] {
  const headers = ['Content-Type', MEDIA_TYPES[format], 'Vary', 'Accept', 'Svc-Row-Count', String(count)];
  if (format === 'csv') headers.push('Content-Disposition', `attachment; filename="${capability}.csv"`);
  if (truncated) headers.push('Svc-Truncated', 'true');
  const encoded = next === undefined ? undefined : asAscii(next);
  if (encoded !== undefined && encoded.length <= NEXT_HEADER_MAX_BYTES) headers.push('Svc-Next', encoded);
  if (cors !== undefined) headers.push('Access-Control-Expose-Headers', EXPOSED_HEADERS);
  return headers;
}

function asAscii(json: string): string {
  return json
    .replaceAll(/[\r\n\t]/g, ' ')
    .replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function send(
  exchange: Exchange,
  { headers, parts, bytes }: Body,
  release: () => void,
  compressor: Compressor | undefined,
): void {
  const mayBeCompressed = compressor !== undefined && (bytes === undefined || bytes >= COMPRESSED_MIN_BYTES);
  const varying = mayBeCompressed ? [...headers, 'Vary', 'Accept-Encoding'] : headers;
  const write =
    mayBeCompressed && takesGzip(exchange.request.headers['accept-encoding']) ? compressor.write : undefined;
  if (write !== undefined) {
    exchange.stream(200, [...varying, 'Content-Encoding', 'gzip'], parts, release, write);
  } else if (bytes === undefined) exchange.stream(200, varying, parts, release);
  else exchange.send(200, varying, [...parts], release);
}

function bytesOf(parts: readonly AnswerPart[]): number {
  let bytes = 0;
  for (const part of parts) bytes += part.length;
  return bytes;
}

/** The first format that `Accept` gives the greatest weight, if that is more than for JSON or anything. Undefined for JSON. */
export function formatWanted(accept: string | undefined): AnswerFormat | undefined {
  if (accept === undefined || !NAMED.test(accept)) return undefined;
  const weights = weightsOf(accept.toLowerCase());
  const json = weights.get('application/json') ?? weights.get('application/*') ?? 0;
  let least = Math.max(json, weights.get('*/*') ?? 0);
  let wanted: AnswerFormat | undefined;
  for (const [type, weight] of weights) {
    const format = FORMATS.get(type);
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
