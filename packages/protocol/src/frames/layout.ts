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
} as const;

/** Second byte of a frame; a bit that its type does not define is a protocol error. */
export const FLAG = {
  /** request, result, data: the body is complete. */
  fin: 1,
  /** result: rows were left out. */
  truncated: 2,
  /** error: the call was not started. */
  not_started: 4,
} as const;

export const METADATA_MAX_ENTRIES = 32;
/** The greatest value of its length byte. */
export const METADATA_KEY_MAX_BYTES = 255;
export const METADATA_VALUE_MAX_BYTES = 1024;
export const CAPABILITY_NAME_MAX_BYTES = 64;
export const GO_AWAY_REASON_MAX_BYTES = 256;
/** timeout, params length, three counts: what a request holds besides texts and parameters. */
export const REQUEST_FIXED_BYTES = 10;
export const RESULT_FIXED_BYTES = 8;
