import { CALL_ERRORS, joinPieces } from '@svc/protocol';
import type { CallResult } from '../../../calls/call-capability.ts';
import type { CallError } from '../../../core/call-error.ts';
import type { Answer } from '../protocol/answer.ts';

/** JSON is built as text in which each character is one byte of UTF-8: that is quoted and written several times faster. */
const BYTES = 'latin1';
const PIECE_BYTES = 65_536;

const CUT = JSON.stringify({
  type: 'text',
  text: 'The result was cut: there are more rows than these. Call again with arguments that match fewer rows.',
});

const CUT_WITH_NEXT = JSON.stringify({
  type: 'text',
  text: 'The result was cut: there are more rows than these. Call again with the same arguments and those in `next` for the rows behind them.',
});

/** The frame around a result: `{` and what a revision puts first; what it puts last and `}`. */
export interface ResultFrame {
  readonly head: string;
  readonly tail: string;
}

/** The rows twice, as the protocol requires: for programs in `structuredContent`, for models as text. */
export function rowsAnswer(id: string, frame: ResultFrame, result: CallResult): Answer {
  const { buffer, byteOffset, byteLength } = joinPieces(result.rows);
  const rows = Buffer.from(buffer, byteOffset, byteLength);
  const { next } = result;
  const end = `,"count":${result.count}${result.truncated ? ',"truncated":true' : ''}${next === undefined ? '' : `,"next":${asBytes(next)}`}}`;
  const cut = next === undefined ? CUT : CUT_WITH_NEXT;
  const head = `{"jsonrpc":"2.0","id":${asBytes(id)},"result":${asBytes(frame.head)}"content":[{"type":"text","text":"`;
  const between = `"}${result.truncated ? `,${cut}` : ''}],"structuredContent":{"rows":`;
  const tail = `${asBytes(frame.tail)}}`;
  const { release } = result;
  if (rows.length <= PIECE_BYTES) {
    const text = rows.toString(BYTES);
    const all = `${head}${quoted(`{"rows":${text}${end}`)}${between}${text}${end}${tail}`;
    return { status: 200, parts: [all], release };
  }
  const rest = inPieces(rows, `${quoted(end)}${between}`, `${end}${tail}`);
  return { status: 200, parts: [Buffer.from(`${head}${quoted('{"rows":')}`, BYTES)], rest, release };
}

/** Only the rows themselves stay in memory, however slowly they are taken. */
function* inPieces(rows: Buffer, between: string, tail: string): Generator<Uint8Array, void, undefined> {
  for (let at = 0; at < rows.length; at += PIECE_BYTES) {
    yield Buffer.from(quoted(rows.toString(BYTES, at, at + PIECE_BYTES)), BYTES);
  }
  yield Buffer.from(between, BYTES);
  for (let at = 0; at < rows.length; at += PIECE_BYTES) yield rows.subarray(at, at + PIECE_BYTES);
  yield Buffer.from(tail, BYTES);
}

export function failedAnswer(id: string, frame: ResultFrame, error: CallError, requestId: string): Answer {
  const content = JSON.stringify([{ type: 'text', text: explain(error, requestId) }]);
  const result = `${frame.head}"content":${content},"isError":true${frame.tail}`;
  return { status: 200, parts: [Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${result}}`)] };
}

/** Public texts hold neither values nor what the database said. */
function explain({ code, message }: CallError, requestId: string): string {
  return CALL_ERRORS[code].forModels.replace('{request}', () => requestId).replace('{text}', () => message);
}

const BEYOND_ASCII = /[\u0080-\uffff]/;

function asBytes(text: string): string {
  return BEYOND_ASCII.test(text) ? Buffer.from(text).toString(BYTES) : text;
}

/** The inside of a JSON string. */
function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
