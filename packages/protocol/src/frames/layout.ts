import type { ProtocolVersion } from '../rules/limits.ts';

/** First byte of a frame. */
export const TYPE = {
  request: 1,
  result: 2,
  data: 3,
  error: 4,
  cancel: 5,
  credit: 6,
  ping: 7,
  pong: 8,
  go_away: 9,
  fleet: 10,
  databases: 12,
  cursor: 13,
} as const;

/** Second byte of a frame; a bit that its type does not define is a protocol error. */
export const FLAG = {
  /** request, result, data: the body is complete. */
  fin: 1,
  /** result: rows were left out. */
  truncated: 2,
  not_started: 4,
} as const;

export const METADATA_MAX_ENTRIES = 32;
/** The greatest value of its length byte. */
export const METADATA_KEY_MAX_BYTES = 255;
/** Of one value, and of all entries with the bytes that say how long they are. */
export const METADATA_BOUNDS: Readonly<
  Record<ProtocolVersion, { readonly valueBytes: number; readonly allBytes: number }>
> = {
  // As much as 32 entries of the greatest size take: version 1 has no bound for all of them.
  1: { valueBytes: 1024, allBytes: METADATA_MAX_ENTRIES * (3 + METADATA_KEY_MAX_BYTES + 1024) },
  2: { valueBytes: 8192, allBytes: 32_768 },
};
export const CAPABILITY_NAME_MAX_BYTES = 64;
export const GO_AWAY_REASON_MAX_BYTES = 256;
export const DATABASE_NAME_PATTERN: RegExp = /^[a-z][a-z0-9_]{0,31}$/;
/** timeout, params length, three counts: what a request holds besides texts and parameters. */
export const REQUEST_FIXED_BYTES = 10;
export const RESULT_FIXED_BYTES = 8;
