import { PassThrough } from 'node:stream';
import pg from 'pg';
import { sqlStateOf, UNKNOWN_STATEMENT } from './errors.ts';

export interface Statement {
  /** Prepared under this name once per connection; without one it is parsed each time. */
  readonly name?: string;
  readonly text: string;
  readonly values?: (string | null)[];
  /** What runs it, once it is prepared where it has a name, and never changes: see `constantStatement`. */
  readonly bytes?: Buffer;
}

export interface Rows {
  /** Every value as the text that the server sent. */
  readonly rows: readonly (readonly (string | null)[])[];
  /** Empty for a statement that was already prepared: only with parsing comes a description. */
  readonly fields: readonly pg.FieldDef[];
}

/** How a unit ended. An error is that of the statement behind the last result, or of the connection. */
export interface Landing {
  readonly results: readonly Rows[];
  readonly error: Error | undefined;
}

/** A connection, and the statements that its server is known to have prepared. */
export interface Line {
  readonly client: pg.Client;
  readonly prepared: Set<string>;
}

/**
 * Sends all units at once by the extended protocol, in one write, and resolves with how each ended, in order. A unit
 * ends with its only Sync: when one of its statements fails, the server skips all that follow it in the unit.
 * Never rejects; a lost connection is the error of every unit that it left unanswered.
 */
export function fly(line: Line, units: readonly (readonly Statement[])[]): Promise<readonly Landing[]> {
  const { client, prepared } = line;
  const { stream } = client.connection;
  stream.cork();
  const landings = units.map(
    (statements) =>
      new Promise<Landing>((resolve) => {
        client.query(new Unit(statements, prepared, resolve));
      }),
  );
  stream.uncork();
  return Promise.all(landings);
}

/** A statement without values, whose messages are made once; one without a name yields no rows. */
export function constantStatement(text: string, name?: string): Statement {
  const recorder = new PassThrough();
  const connection = new pg.Connection({ stream: () => recorder });
  const statement = name === undefined ? { text } : { name, text };
  if (name === undefined) connection.parse({ name: '', text, types: [] }, true);
  bindAndExecute(connection, statement);
  const bytes: unknown = recorder.read();
  return Buffer.isBuffer(bytes) ? { ...statement, bytes } : statement;
}

/** What node-postgres sends as one query: its client calls `submit`, and `handle...` for each message of the answer. */
class Unit extends pg.Query {
  readonly #statements: readonly Statement[];
  readonly #prepared: Set<string>;
  readonly #land: (landing: Landing) => void;
  readonly #results: Rows[] = [];
  #rows: (string | null)[][] = [];
  #fields: pg.FieldDef[] = [];

  constructor(statements: readonly Statement[], prepared: Set<string>, land: (landing: Landing) => void) {
    super('');
    this.#statements = statements;
    this.#prepared = prepared;
    this.#land = land;
  }

  override submit = (connection: pg.Connection): Error | undefined => {
    try {
      for (const statement of this.#statements) send(connection, statement, this.#prepared);
      connection.sync();
      return undefined;
    } catch (error) {
      // Half a unit may not be completed by what somebody else sends.
      connection.stream.destroy();
      return error instanceof Error ? error : new Error('cannot encode a statement');
    }
  };

  handleRowDescription(message: { readonly fields: pg.FieldDef[] }): void {
    this.#fields = message.fields;
    // Known already here, so that a query whose runs fail, which planning for the values may do, is not parsed each time.
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
    this.#land({ results: this.#results, error });
  }

  handleReadyForQuery(): void {
    this.#land({ results: this.#results, error: undefined });
  }

  #markPrepared(): void {
    const name = this.#statements[this.#results.length]?.name;
    if (name !== undefined) this.#prepared.add(name);
  }
}

function send(connection: pg.Connection, statement: Statement, prepared: ReadonlySet<string>): void {
  const { name, text, bytes } = statement;
  const isReady = name !== undefined && prepared.has(name);
  if (bytes !== undefined && (isReady || name === undefined)) {
    if (connection.stream.writable) connection.stream.write(bytes);
    return;
  }
  if (isReady) {
    bindAndExecute(connection, statement);
    return;
  }
  // The server may have it after all, be it from before an error or from another client of a pooler.
  if (name !== undefined) connection.close({ type: 'S', name }, true);
  connection.parse({ name: name ?? '', text, types: [] }, true);
  connection.describe({ type: 'S', name: name ?? '' }, true);
  bindAndExecute(connection, statement);
}

function bindAndExecute(connection: pg.Connection, { name, values }: Statement): void {
  connection.bind({ statement: name ?? '', values }, true);
  connection.execute(null, true);
}
