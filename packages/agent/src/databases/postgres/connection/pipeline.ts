import pg from 'pg';
import { serialize } from 'pg-protocol';
import { sqlStateOf, UNKNOWN_STATEMENT } from './server-errors.ts';

export interface Statement {
  /** Prepared under this name once per connection; without one it is parsed each time. */
  readonly name?: string;
  readonly text: string;
  readonly values?: (string | null)[];
  /** The messages that run it, made once; where it has a name, after it is prepared: see `constantStatement`. */
  readonly bytes?: Buffer;
}

export interface Rows {
  /** Every value as the text that the server sent. */
  readonly rows: readonly (readonly (string | null)[])[];
  /** Empty for a statement that was already prepared: only with parsing comes a description. */
  readonly fields: readonly pg.FieldDef[];
}

/** How a unit, all statements up to one Sync, has ended. An error is that of the statement behind the last result, or of the connection. */
export interface UnitResult {
  readonly results: readonly Rows[];
  readonly error: Error | undefined;
  /** Whether the server said behind it that no transaction is open; never where there is an error. */
  readonly idle: boolean;
}

/** A connection, and the statements that its server is known to have prepared. */
export interface PipelinedConnection {
  readonly client: pg.Client;
  readonly prepared: Set<string>;
}

const EXECUTE = serialize.execute();
const SYNC = serialize.sync();

/** Sends all units at once and resolves with how each ended, in order: see `send`. Never rejects. */
export function sendAll(
  connection: PipelinedConnection,
  units: readonly (readonly Statement[])[],
): Promise<readonly UnitResult[]> {
  return Promise.all(
    units.map((statements) => new Promise<UnitResult>((resolve) => send(connection, statements, resolve))),
  );
}

/**
 * Sends a unit by the extended protocol, behind whatever is under way, and calls `onResult` once with how it ended. A unit
 * ends with its only Sync: when one of its statements fails, the server skips all that follow it in the unit. What is
 * sent in one turn of the event loop leaves in one write. A lost connection is the error of every unit without a result.
 */
export function send(
  connection: PipelinedConnection,
  statements: readonly Statement[],
  onResult: (result: UnitResult) => void,
): void {
  const { client, prepared } = connection;
  const { stream } = client.connection;
  if (stream.writableCorked === 0) {
    stream.cork();
    process.nextTick(() => stream.uncork());
  }
  client.query(new Unit(client, statements, prepared, onResult));
}

/** A statement without values, whose messages are made once; one without a name yields no rows. */
export function constantStatement(text: string, name?: string): Statement {
  const run = [serialize.bind({ statement: name ?? '' }), EXECUTE];
  if (name !== undefined) return { name, text, bytes: Buffer.concat(run) };
  return { text, bytes: Buffer.concat([serialize.parse({ text }), ...run]) };
}

/** What node-postgres sends as one query: its client calls `submit`, and `handle...` for each message of the answer. */
class Unit extends pg.Query {
  readonly #client: pg.Client;
  readonly #statements: readonly Statement[];
  readonly #prepared: Set<string>;
  readonly #onResult: (result: UnitResult) => void;
  readonly #results: Rows[] = [];
  #rows: (string | null)[][] = [];
  #fields: pg.FieldDef[] = [];

  constructor(
    client: pg.Client,
    statements: readonly Statement[],
    prepared: Set<string>,
    onResult: (result: UnitResult) => void,
  ) {
    super('');
    this.#client = client;
    this.#statements = statements;
    this.#prepared = prepared;
    this.#onResult = onResult;
  }

  override submit = ({ stream }: pg.Connection): Error | undefined => {
    try {
      const messages: Buffer[] = [];
      for (const statement of this.#statements) addMessages(messages, statement, this.#prepared);
      messages.push(SYNC);
      // Otherwise the connection has ended, and its end becomes the error of this unit.
      if (stream.writable) stream.write(Buffer.concat(messages));
      return undefined;
    } catch (error) {
      return error instanceof Error ? error : new Error('cannot encode a statement');
    }
  };

  handleRowDescription(message: { readonly fields: pg.FieldDef[] }): void {
    this.#fields = message.fields;
    // Marked already here: a query that fails each time it runs would else be parsed each time.
    this.#markPrepared();
  }

  handleDataRow(message: { readonly fields: (string | null)[] }): void {
    this.#rows.push(message.fields);
  }

  handleCommandComplete(): void {
    this.#markPrepared();
    this.#results.push({ rows: this.#rows, fields: this.#fields });
    this.#rows = [];
    this.#fields = [];
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete();
  }

  handleError(error: Error): void {
    // A pooler that lost one has lost them all.
    if (sqlStateOf(error) === UNKNOWN_STATEMENT) this.#prepared.clear();
    this.#onResult({ results: this.#results, error, idle: false });
  }

  handleReadyForQuery(): void {
    const idle = this.#client.getTransactionStatus() === 'I';
    this.#onResult({ results: this.#results, error: undefined, idle });
  }

  #markPrepared(): void {
    const name = this.#statements[this.#results.length]?.name;
    if (name !== undefined) this.#prepared.add(name);
  }
}

function addMessages(messages: Buffer[], statement: Statement, prepared: ReadonlySet<string>): void {
  const { name, text, values = [], bytes } = statement;
  const isReady = name !== undefined && prepared.has(name);
  if (!isReady && (name !== undefined || bytes === undefined)) {
    // The server may have it after all, be it from before an error or from another client of a pooler.
    if (name !== undefined) messages.push(serialize.close({ type: 'S', name }));
    messages.push(serialize.parse({ name: name ?? '', text }));
    messages.push(serialize.describe({ type: 'S', name: name ?? '' }));
  } else if (bytes !== undefined) {
    messages.push(bytes);
    return;
  }
  messages.push(serialize.bind({ statement: name ?? '', values }), EXECUTE);
}
