import { deserialize, serialize } from 'node:v8';
import type {
  CallerSettings,
  DatabaseChange,
  DatabaseConfig,
  DatabaseConnections,
  PreparedCapability,
  QueryCall,
  QueryResult,
  TransactionCounts,
} from '../databases/driver/driver.ts';
import { DatabaseError, type DatabaseErrorKind } from '../databases/driver/errors.ts';
import type { ShareValues } from './caller-shares.ts';
import type { MessageFields } from '../process-messages/message-reader.ts';
import type { MessageWriter } from '../process-messages/message-writer.ts';

/** What the agent tells a worker. Calls, pings and questions have an id, which their answer repeats. */
export const TO_WORKER = {
  start: 1,
  prepare: 2,
  call: 3,
  cancel: 4,
  shares: 5,
  ping: 6,
  changedLabels: 7,
  close: 8,
  forget: 9,
} as const;

/** What a worker tells the agent. */
export const FROM_WORKER = {
  ready: 1,
  result: 2,
  failed: 3,
  answer: 4,
  state: 5,
  change: 6,
  sharingEnded: 7,
} as const;

/** The first message: the worker's database and queries. */
export interface StartOrder {
  readonly config: DatabaseConfig;
  /** By their numbers; undefined for forgotten ones. */
  readonly prepared: readonly (PreparedCapability | undefined)[];
}

export interface PrepareOrder {
  readonly query: number;
  readonly prepared: PreparedCapability;
}

/** A call as a worker gets it; `query` is the number of its prepared capability. */
export interface SentCall extends Omit<QueryCall, 'signal' | 'share'> {
  readonly id: number;
  readonly query: number;
  readonly share: ShareValues | undefined;
}

/** The state of the database, as one worker sees it. */
export interface WorkerState extends DatabaseConnections {
  readonly isUp: boolean;
  /** As in `Database`. */
  readonly transactions?: TransactionCounts | undefined;
}

const HAS_CALLER = 1;
const HAS_SHARE = 2;
const IS_ALONE = 1;
const IS_UP = 1;
const HAS_TRANSACTIONS = 2;
const MAX_TIMEOUT_MS = 0xffff_ffff;
const SHARE_BYTES = 9;
const COUNT_BASE = 2 ** 32;
const CALL_BYTES = 40;

export function writeData(writer: MessageWriter, kind: number, data: unknown): void {
  writer.begin(kind, 0);
  writer.end(serialize(data));
}

export function readData<T>(fields: MessageFields): T {
  return deserialize(fields.rest());
}

/** A message with an id, and with another number if it is given. */
export function writeId(writer: MessageWriter, kind: number, id: number, more?: number): void {
  writer.begin(kind, 8);
  writer.number(id);
  if (more !== undefined) writer.number(more);
  writer.end();
}

export function writeCall(
  writer: MessageWriter,
  id: number,
  query: number,
  { values, apiKeyName, requestId, caller }: QueryCall,
  timeoutMs: number,
  share: ShareValues | undefined,
): void {
  const json = JSON.stringify(values);
  const characters = json.length + apiKeyName.length + requestId.length + lengthOf(caller);
  writer.begin(TO_WORKER.call, CALL_BYTES + SHARE_BYTES + 3 * characters);
  writer.number(id);
  writer.number(query);
  writer.number(Math.min(Math.max(Math.ceil(timeoutMs), 0), MAX_TIMEOUT_MS));
  writer.byte((caller === undefined ? 0 : HAS_CALLER) | (share === undefined ? 0 : HAS_SHARE));
  if (share !== undefined) writeShare(writer, share);
  writer.text(apiKeyName);
  writer.text(requestId);
  if (caller !== undefined) {
    writer.text(caller.subject);
    writer.text(caller.issuer);
    writer.text(caller.clientId);
    writer.text(caller.claimsJson);
  }
  writer.text(json);
  writer.end();
}

function lengthOf(caller: CallerSettings | undefined): number {
  if (caller === undefined) return 0;
  const { subject, issuer, clientId, claimsJson } = caller;
  return subject.length + issuer.length + clientId.length + claimsJson.length;
}

export function readCall(fields: MessageFields): SentCall {
  const id = fields.number();
  const query = fields.number();
  const timeoutMs = fields.number();
  const flags = fields.byte();
  const share = (flags & HAS_SHARE) === 0 ? undefined : readShare(fields);
  const apiKeyName = fields.text();
  const requestId = fields.text();
  const caller = (flags & HAS_CALLER) === 0 ? undefined : readCaller(fields);
  const values: QueryCall['values'] = JSON.parse(fields.text());
  return { id, query, timeoutMs, share, apiKeyName, requestId, caller, values };
}

function readCaller(fields: MessageFields): CallerSettings {
  const subject = fields.text();
  const issuer = fields.text();
  const clientId = fields.text();
  return { subject, issuer, clientId, claimsJson: fields.text() };
}

function writeShare(writer: MessageWriter, { number, isAlone, most, spare }: ShareValues): void {
  writer.number(number);
  writer.byte(isAlone ? IS_ALONE : 0);
  writer.short(most);
  writer.short(spare);
}

function readShare(fields: MessageFields): ShareValues {
  const number = fields.number();
  const isAlone = fields.byte() === IS_ALONE;
  const most = fields.short();
  return { number, isAlone, most, spare: fields.short() };
}

export function writeShares(writer: MessageWriter, shares: readonly ShareValues[]): void {
  writer.begin(TO_WORKER.shares, 4 + shares.length * SHARE_BYTES);
  writer.number(shares.length);
  for (const share of shares) writeShare(writer, share);
  writer.end();
}

export function readShares(fields: MessageFields): readonly ShareValues[] {
  return Array.from({ length: fields.number() }, () => readShare(fields));
}

export function writeResult(
  writer: MessageWriter,
  id: number,
  { rows, count, truncated, cursor }: QueryResult,
): void {
  writer.begin(FROM_WORKER.result, 9 + (cursor === undefined ? 0 : 4 + 3 * cursor.length));
  writer.number(id);
  writer.number(count);
  writer.byte((truncated ? IS_TRUNCATED : 0) | (cursor === undefined ? 0 : HAS_CURSOR));
  if (cursor !== undefined) writer.text(cursor);
  writer.end(rows);
}

const IS_TRUNCATED = 1;
const HAS_CURSOR = 2;

/** A short result that shares its memory would keep a whole piece of the stream alive. */
const OWN_MEMORY_MAX_BYTES = 4096;

export function readResult(fields: MessageFields): QueryResult {
  const count = fields.number();
  const flags = fields.byte();
  const next = (flags & HAS_CURSOR) === 0 ? {} : { cursor: fields.text() };
  const sent = fields.rest();
  const rows = sent.length > OWN_MEMORY_MAX_BYTES ? sent : Buffer.from(sent);
  return { rows, count, truncated: (flags & IS_TRUNCATED) !== 0, ...next };
}

export function writeState(writer: MessageWriter, state: WorkerState): void {
  writer.begin(FROM_WORKER.state, 49);
  writer.number(state.idle);
  writer.number(state.busy);
  writer.number(state.opening);
  writer.number(state.waiting);
  const { transactions } = state;
  writer.byte((state.isUp ? IS_UP : 0) | (transactions === undefined ? 0 : HAS_TRANSACTIONS));
  if (transactions !== undefined) {
    writeCount(writer, transactions.own);
    writeCount(writer, transactions.shared);
    writeCount(writer, transactions.sharedCalls);
    writeCount(writer, transactions.sharedResends);
  }
  writer.end();
}

export function readState(fields: MessageFields): WorkerState {
  const idle = fields.number();
  const busy = fields.number();
  const opening = fields.number();
  const waiting = fields.number();
  const flags = fields.byte();
  const isUp = (flags & IS_UP) !== 0;
  if ((flags & HAS_TRANSACTIONS) === 0) return { idle, busy, opening, waiting, isUp };
  const own = readCount(fields);
  const shared = readCount(fields);
  const sharedCalls = readCount(fields);
  const transactions = { own, shared, sharedCalls, sharedResends: readCount(fields) };
  return { idle, busy, opening, waiting, isUp, transactions };
}

/** More than 32 bits: a worker may live for months. */
function writeCount(writer: MessageWriter, count: number): void {
  writer.number(Math.floor(count / COUNT_BASE));
  writer.number(count % COUNT_BASE);
}

function readCount(fields: MessageFields): number {
  const high = fields.number();
  return high * COUNT_BASE + fields.number();
}

export type Loss = Omit<Extract<DatabaseChange, { isUp: false }>, 'isUp'>;

/** An error as plain data. The message of an error other than `DatabaseError` may quote values, so it is left out. */
type SentError =
  | {
      readonly kind: DatabaseErrorKind;
      readonly message: string;
      readonly advice: string | undefined;
      readonly sqlState: string | undefined;
      readonly cause: string | undefined;
    }
  | { readonly stack: string };

export function writeAnswer(writer: MessageWriter, id: number, answer: unknown): void {
  writeReply(writer, FROM_WORKER.answer, id, answer);
}

export function writeFailed(writer: MessageWriter, id: number, error: unknown): void {
  writeReply(writer, FROM_WORKER.failed, id, sentErrorOf(error));
}

function writeReply(writer: MessageWriter, kind: number, id: number, data: unknown): void {
  writer.begin(kind, 4);
  writer.number(id);
  writer.end(serialize(data));
}

function sentErrorOf(error: unknown): SentError {
  if (error instanceof DatabaseError) {
    const { kind, message, advice, sqlState, cause } = error;
    return { kind, message, advice, sqlState, cause: cause instanceof Error ? cause.message : undefined };
  }
  return { stack: error instanceof Error ? (error.stack ?? '').replace(error.message, '') : '' };
}

export function readFailed(fields: MessageFields): Error {
  const sent: SentError = deserialize(fields.rest());
  if ('stack' in sent) return Object.assign(new Error(), { stack: sent.stack });
  const { kind, message, advice, sqlState, cause } = sent;
  const known = { advice, sqlState, ...(cause === undefined ? {} : { cause: new Error(cause) }) };
  return new DatabaseError(kind, message, known);
}
