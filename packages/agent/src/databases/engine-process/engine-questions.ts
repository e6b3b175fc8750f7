import type { ValueFault } from '../sql/probes/proven-faults.ts';

/** Kinds of questions to a process that holds an engine; drivers add their own. The body of each is JSON. */
export const ASK = { open: 1, judge: 2, run: 3, read: 4, interrupt: 5 } as const;
/** Kinds of answers: JSON, the rows of a run as `writeRows` puts them, or an `EngineFailure`. */
export const ANSWER = { json: 1, rows: 2, failed: 3 } as const;

/** `Definition` is what the engine has to know of a query. */
export interface RunQuestion<Definition = unknown> {
  readonly query: number;
  /** Present if the process does not know the query yet. */
  readonly definition?: Definition;
  readonly values: readonly unknown[];
  /** Queries that will not be run again. */
  readonly forget?: readonly number[];
}

/** A statement of the driver itself, without values. Its answer is the rows. */
export interface ReadQuestion {
  readonly sql: string;
}

/** The columns of a statement that only reads, or what is wrong with it. */
export type JudgeAnswer<Column> =
  /** `mayDiffer`: it reaches a function whose answer may differ for the same arguments. */
  | { readonly ok: true; readonly columns: readonly Column[]; readonly mayDiffer: boolean }
  /** `detail` is database text. */
  | { readonly ok: false; readonly problem: string; readonly detail?: string };

/** Holds no value of a parameter or a row. */
export interface EngineFailure {
  readonly kind: 'unavailable' | 'too_large' | 'failed' | 'cancelled';
  readonly message: string;
  /** What to check if the database cannot be used. */
  readonly advice?: string;
  /** The values that the engine refuses by themselves. */
  readonly faults?: readonly ValueFault[];
}

/** Thrown to answer a question with a failure. */
export class Failure extends Error {
  readonly failure: EngineFailure;
  constructor(failure: EngineFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

const TIME_OFFSET = 4;
const FLAGS_OFFSET = 8;
/** The length of the count, the time in microseconds, and the flags. */
const HEAD_BYTES = FLAGS_OFFSET + 1;
/** There are more rows. */
const CUT = 1;
/** The border follows: the length of its JSON, then that. */
const BORDER = 2;
const LENGTH_BYTES = 4;

/** Where a page ends. */
export interface PageBorder {
  /** The values by which its last row is ordered, as texts of a cursor. */
  readonly last: readonly (string | null)[];
  /** Whether the database holds the next row for equal to it. */
  readonly isTied: boolean;
}

export interface Rows {
  readonly rows: Uint8Array;
  readonly count: number;
  readonly truncated: boolean;
  /** The time of the query in its process; 0 if unknown. */
  readonly ms: number;
  /** Of a page that is cut. */
  readonly border?: PageBorder;
}

export function writeRows(texts: readonly string[], truncated: boolean, border?: PageBorder): Buffer {
  const rows = `[${texts.join(',')}]`;
  const end = border === undefined ? '' : JSON.stringify(border);
  const endBytes = border === undefined ? 0 : LENGTH_BYTES + Buffer.byteLength(end);
  const body = Buffer.allocUnsafe(HEAD_BYTES + endBytes + Buffer.byteLength(rows));
  body.writeUInt32BE(texts.length);
  writeTime(body, 0);
  body.writeUInt8((truncated ? CUT : 0) | (border === undefined ? 0 : BORDER), FLAGS_OFFSET);
  if (border !== undefined) {
    body.writeUInt32BE(endBytes - LENGTH_BYTES, HEAD_BYTES);
    body.write(end, HEAD_BYTES + LENGTH_BYTES);
  }
  body.write(rows, HEAD_BYTES + endBytes);
  return body;
}

export function writeTime(body: Buffer, ms: number): void {
  body.writeUInt32BE(Math.min(Math.round(ms * 1000), 0xffff_ffff), TIME_OFFSET);
}

export function readRows(body: Buffer): Rows {
  const flags = body.readUInt8(FLAGS_OFFSET);
  const endBytes = (flags & BORDER) === 0 ? 0 : LENGTH_BYTES + body.readUInt32BE(HEAD_BYTES);
  const rows = HEAD_BYTES + endBytes;
  return {
    rows: body.subarray(rows),
    count: body.readUInt32BE(),
    truncated: (flags & CUT) !== 0,
    ms: body.readUInt32BE(TIME_OFFSET) / 1000,
    ...(endBytes === 0 ? {} : { border: borderIn(body.subarray(HEAD_BYTES + LENGTH_BYTES, rows)) }),
  };
}

function borderIn(json: Buffer): PageBorder {
  const border: PageBorder = JSON.parse(json.toString());
  return border;
}
