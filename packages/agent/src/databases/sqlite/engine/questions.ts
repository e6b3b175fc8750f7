import type { CapabilityLimits, ParamType, ResultType } from '../../../capabilities/model.ts';

/** Kinds of questions to the process that holds a database open. The body of each is JSON. */
export const ASK = { open: 1, judge: 2, run: 3, read: 4 } as const;
/** Kinds of answers: JSON, the rows of a run as `writeRows` puts them, or an `EngineFailure`. */
export const ANSWER = { json: 1, rows: 2, failed: 3 } as const;

export interface OpenQuestion {
  readonly file: string;
  /** Nobody writes the file while it is open, so that nothing is locked and nothing beside it is looked for. */
  readonly isImmutable: boolean;
}

export interface JudgeQuestion {
  readonly text: string;
  readonly allowFunctions: readonly string[];
}

/** The columns of a statement that only reads, or what is wrong with it. */
export type JudgeAnswer =
  | { readonly ok: true; readonly columns: readonly ColumnDescription[] }
  /** `detail` is database text. */
  | { readonly ok: false; readonly problem: string; readonly detail?: string };

interface ColumnDescription {
  readonly name: string;
  /** As its table declares it; null for what is no column of a table. */
  readonly type: string | null;
}

/** A statement of the driver itself, whose parameters are all NULL. */
export interface ReadQuestion {
  readonly sql: string;
}

export interface RunQuestion {
  readonly query: number;
  /** Where the process has not been told of it yet. */
  readonly definition?: QueryDefinition;
  /** In the order of the definition's parameters. */
  readonly values: readonly unknown[];
  /** Queries that will not be run again. */
  readonly forget?: readonly number[];
}

export interface QueryDefinition {
  readonly text: string;
  readonly allowFunctions: readonly string[];
  /** The types of ?1, ?2 and so on. */
  readonly params: readonly ParamType[];
  readonly fields: readonly FieldDefinition[];
  readonly limits: Pick<CapabilityLimits, 'maxRows' | 'maxBytes' | 'onLimit'>;
}

export interface FieldDefinition {
  readonly name: string;
  readonly type: ResultType;
  readonly nullable: boolean;
}

/** Nothing of it is a value of a parameter or a row. */
export interface EngineFailure {
  readonly kind: 'unavailable' | 'too_large' | 'failed';
  readonly message: string;
  /** What to check, where the file cannot be used. */
  readonly advice?: string;
  /** What the caller is to change, where it is a value that the statement refuses. */
  readonly mistake?: string;
}

const TIME_OFFSET = 4;
const CUT_OFFSET = 8;
/** Of the count, of what it took in microseconds, and of whether there are more rows. */
const HEAD_BYTES = CUT_OFFSET + 1;

export interface Rows {
  readonly rows: Uint8Array;
  readonly count: number;
  readonly truncated: boolean;
  /** What the query took in its process. */
  readonly ms: number;
}

export function writeRows(texts: readonly string[], truncated: boolean): Buffer {
  const rows = `[${texts.join(',')}]`;
  const body = Buffer.allocUnsafe(HEAD_BYTES + Buffer.byteLength(rows));
  body.writeUInt32BE(texts.length);
  body.writeUInt8(truncated ? 1 : 0, CUT_OFFSET);
  body.write(rows, HEAD_BYTES);
  return body;
}

export function writeTime(body: Buffer, ms: number): void {
  body.writeUInt32BE(Math.min(Math.round(ms * 1000), 0xffff_ffff), TIME_OFFSET);
}

export function readRows(body: Buffer): Rows {
  return {
    rows: body.subarray(HEAD_BYTES),
    count: body.readUInt32BE(),
    truncated: body.readUInt8(CUT_OFFSET) === 1,
    ms: body.readUInt32BE(TIME_OFFSET) / 1000,
  };
}
