import pg from 'pg';
import { serialize } from 'pg-protocol';
import { DatabaseError } from '../../driver/errors.ts';
import { MESSAGE_MAX_BYTES } from '../../sessions/answer-bounds.ts';
import type { MessageReader } from './message-reader.ts';
import { PreparedStatements } from './prepared-statements.ts';
import { shareTransaction } from './shared-transaction.ts';
import { addMessages, type Rows, type Statement } from './statement.ts';
import type { Unit, UnitResult } from './unit.ts';
import { sqlStateOf, UNKNOWN_STATEMENT } from './server-errors.ts';

/** A connection, and the statements that its server is known to have prepared. */
export interface PipelinedConnection {
  readonly client: pg.Client;
  readonly reader: MessageReader;
  readonly prepared: PreparedStatements;
  /** What others may join until the end of the event-loop turn. */
  readonly outgoing: { batch: UnitBatch | undefined };
}

/** Units under one Sync: when a statement of one fails, the server skips the rest of it and all later units. */
export interface Batch {
  readonly size: number;
}

/** Nothing of a unit has left: the connection had ended before its turn came. */
export class NotSent extends Error {
  constructor({ message }: Error) {
    super(message);
    this.name = 'NotSent';
  }
}

const SYNC = serialize.sync();

/** The answers of a batch come together, so the first waits for the last: the most units, and their time. */
const BATCH_MAX = 16;
const BATCH_MS = 2;

export function pipelinedConnection(client: pg.Client, reader: MessageReader): PipelinedConnection {
  return { client, reader, prepared: new PreparedStatements(), outgoing: { batch: undefined } };
}

/** Sends all units at once and resolves with how each ended, in order: see `send`. Never rejects. */
export function sendAll(
  connection: PipelinedConnection,
  units: readonly (readonly Statement[])[],
): Promise<readonly UnitResult[]> {
  return Promise.all(
    units.map(
      (statements) =>
        new Promise<UnitResult>((onResult) =>
          send(connection, { statements, onResult, mostBytes: MESSAGE_MAX_BYTES }),
        ),
    ),
  );
}

/**
 * Sends a unit by the extended protocol, after whatever is under way. When one of its statements fails, the server skips
 * the rest of the unit. `shortMs` is for units that are expected to be short and whose last statement ends their
 * transaction: they may leave in a batch with others of the same turn of the event loop, and then share a transaction.
 * A lost connection is the error of every unit without a result.
 */
export function send(connection: PipelinedConnection, unit: Unit, shortMs?: number): Batch {
  const { client, outgoing } = connection;
  const { stream } = client.connection;
  if (stream.writableCorked === 0) {
    stream.cork();
    process.nextTick(() => {
      submitBatch(connection);
      stream.uncork();
    });
  }
  if (shortMs !== undefined && outgoing.batch?.join(unit, shortMs) === true) return outgoing.batch;
  submitBatch(connection);
  const batch = new UnitBatch(connection, unit, shortMs ?? 0);
  if (shortMs === undefined) client.query(batch);
  else outgoing.batch = batch;
  return batch;
}

function submitBatch({ client, outgoing }: PipelinedConnection): void {
  const { batch } = outgoing;
  outgoing.batch = undefined;
  if (batch !== undefined) client.query(batch);
}

/** The server's word for the end of a transaction; nothing that can be prepared in SQL yields it. */
const ENDED = 'ROLLBACK';

/** node-postgres sends it as one query: it calls `submit`, and `handle...` for each message of the answer. */
class UnitBatch extends pg.Query implements Batch {
  readonly #client: pg.Client;
  readonly #reader: MessageReader;
  readonly #prepared: PreparedStatements;
  #units: Unit[];
  #size = 1;
  #expectedMs: number;
  #isSent = false;
  /** The unit that the next message of the answer belongs to. */
  #at = 0;
  #results: Rows[] = [];
  #rows: (string | null)[][] = [];
  #fields: pg.FieldDef[] = [];
  #bytes = 0;

  constructor({ client, reader, prepared }: PipelinedConnection, unit: Unit, expectedMs: number) {
    super('');
    this.#client = client;
    this.#reader = reader;
    this.#prepared = prepared;
    this.#units = [unit];
    this.#expectedMs = expectedMs;
  }

  get size(): number {
    return this.#size;
  }

  /** False if the batch is full. */
  join(unit: Unit, expectedMs: number): boolean {
    if (this.#size === BATCH_MAX || this.#expectedMs + expectedMs > BATCH_MS) return false;
    this.#units.push(unit);
    this.#size += 1;
    this.#expectedMs += expectedMs;
    return true;
  }

  override submit = ({ stream }: pg.Connection): Error | undefined => {
    // The connection has ended, and its end becomes the error of these units.
    if (!stream.writable) return undefined;
    try {
      this.#units = shareTransaction(this.#units);
      const messages: Buffer[] = [];
      for (const { statements } of this.#units)
        for (const statement of statements) addMessages(messages, statement, this.#prepared);
      messages.push(SYNC);
      this.#isSent = true;
      this.#reader.expect(this.#units.reduce((sum, { mostBytes }) => sum + mostBytes, 0));
      stream.write(Buffer.concat(messages));
      return undefined;
    } catch (error) {
      return error instanceof Error ? error : new Error('cannot encode a statement');
    }
  };

  handleRowDescription(message: { readonly fields: pg.FieldDef[] }): void {
    this.#fields = message.fields;
    // Marked already here, or a query that fails each time it runs would be parsed each time.
    this.#markPrepared();
  }

  handleDataRow(message: { readonly fields: (string | null)[]; readonly length: number }): void {
    this.#bytes += message.length;
    const { mostBytes = 0 } = this.#units[this.#at] ?? {};
    if (this.#bytes > mostBytes) {
      throw new DatabaseError('unavailable', `the server has sent a result of more than ${mostBytes} bytes`);
    }
    this.#rows.push(message.fields);
  }

  handleCommandComplete(message?: { readonly text?: string }): void {
    this.#markPrepared();
    this.#results.push({ rows: this.#rows, fields: this.#fields });
    this.#rows = [];
    this.#fields = [];
    // For the last unit `handleReadyForQuery` tells whether its transaction is over.
    const isOver = this.#results.length === this.#units[this.#at]?.statements.length;
    if (isOver && this.#at + 1 < this.#units.length) this.#end(undefined, message?.text === ENDED);
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete();
  }

  handleError(error: Error): void {
    // A pooler that has lost one has lost all.
    if (sqlStateOf(error) === UNKNOWN_STATEMENT) this.#prepared.clear();
    const notSent = this.#isSent ? undefined : new NotSent(error);
    this.#end(notSent ?? error, false);
    const skipped = notSent ?? new Error('skipped behind a unit that failed');
    while (this.#at < this.#units.length) this.#end(skipped, false);
  }

  handleReadyForQuery(): void {
    this.#end(undefined, this.#client.getTransactionStatus() === 'I');
  }

  #end(error: Error | undefined, idle: boolean): void {
    const results = this.#results;
    this.#results = [];
    this.#bytes = 0;
    this.#units[this.#at++]?.onResult({ results, error, idle });
  }

  #markPrepared(): void {
    const name = this.#units[this.#at]?.statements[this.#results.length]?.name;
    if (name !== undefined) this.#prepared.add(name);
  }
}
