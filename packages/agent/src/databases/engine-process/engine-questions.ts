/** Kinds of questions to a process that holds an engine; drivers add their own. The body of each is JSON. */
export const ASK = { open: 1, judge: 2, run: 3, read: 4, interrupt: 5 } as const;
/** Kinds of answers: JSON, the rows of a run as `writeRows` puts them, or an `EngineFailure`. */
export const ANSWER = { json: 1, rows: 2, failed: 3 } as const;

/** `Definition` is what the engine has to know of a query. */
export interface RunQuestion<Definition = unknown> {
  readonly query: number;
  /** Where the process has not been told of it yet. */
  readonly definition?: Definition;
  /** In the order of the definition's parameters. */
  readonly values: readonly unknown[];
  /** Queries that will not be run again. */
  readonly forget?: readonly number[];
}

/** The columns of a statement that only reads, or what is wrong with it. */
export type JudgeAnswer<Column> =
  | { readonly ok: true; readonly columns: readonly Column[] }
  /** `detail` is database text. */
  | { readonly ok: false; readonly problem: string; readonly detail?: string };

/** Nothing of it is a value of a parameter or a row. */
export interface EngineFailure {
  readonly kind: 'unavailable' | 'too_large' | 'failed' | 'cancelled';
  readonly message: string;
  /** What to check, where the database cannot be used. */
  readonly advice?: string;
  /** What the caller is to change, where it is a value that the statement refuses. */
  readonly mistake?: string;
}

/** What a question is answered with instead of what it asked for. */
export class Failure extends Error {
  readonly failure: EngineFailure;
  constructor(failure: EngineFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

const COUNT_BYTES = 4;
/** Of the count and of whether there are more rows. */
const HEAD_BYTES = COUNT_BYTES + 1;

export interface Rows {
  readonly rows: Uint8Array;
  readonly count: number;
  readonly truncated: boolean;
}

export function writeRows(texts: readonly string[], truncated: boolean): Buffer {
  const rows = `[${texts.join(',')}]`;
  const body = Buffer.allocUnsafe(HEAD_BYTES + Buffer.byteLength(rows));
  body.writeUInt32BE(texts.length);
  body.writeUInt8(truncated ? 1 : 0, COUNT_BYTES);
  body.write(rows, HEAD_BYTES);
  return body;
}

export function readRows(body: Buffer): Rows {
  return {
    rows: body.subarray(HEAD_BYTES),
    count: body.readUInt32BE(),
    truncated: body.readUInt8(COUNT_BYTES) === 1,
  };
}
