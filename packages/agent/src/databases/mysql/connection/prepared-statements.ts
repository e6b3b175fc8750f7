import type { Connection, PrepareStatementInfo } from 'mysql2';

/** Of one connection. The server counts those of all connections of all its clients, and refuses more than 16,382. */
const MOST_STATEMENTS = 256;

/**
 * What a connection has prepared. The library's `execute` keeps statements as well, but finds them for each call by a
 * command of its own and a key that it makes of the text, which together are a tenth of what a call takes here.
 */
export class PreparedStatements {
  readonly #connection: Connection;
  /** By their texts, the oldest first. */
  readonly #known = new Map<string, PrepareStatementInfo>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Calls back at once with one that is known. It is to be used then: later it may have made room for another. */
  use(text: string, done: (error: Error | null, statement: PrepareStatementInfo) => void): void {
    const known = this.#known.get(text);
    if (known !== undefined) {
      done(null, known);
      return;
    }
    this.#connection.prepare(text, (error, statement) => {
      if (error === null) this.#keep(text, statement);
      done(error, statement);
    });
  }

  /** To be told when the server has closed them all. */
  forget(): void {
    this.#known.clear();
  }

  #keep(text: string, statement: PrepareStatementInfo): void {
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size >= MOST_STATEMENTS) {
      this.#known.delete(oldest);
      this.#connection.unprepare(oldest);
    }
    this.#known.set(text, statement);
  }
}
