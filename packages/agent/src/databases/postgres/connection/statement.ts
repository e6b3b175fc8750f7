import type pg from 'pg';
import { serialize } from 'pg-protocol';
import type { PreparedStatements } from './prepared-statements.ts';

export interface Statement {
  /** Prepared under this name once per connection; without one it is parsed each time. */
  readonly name?: string;
  readonly text: string;
  readonly values?: (string | null)[];
  /** Whether it is one of many of its capability, of which the server keeps a few. */
  readonly isAssembled?: boolean;
  /** The messages that run it, once it is prepared if it has a name: see `constantStatement`. */
  readonly bytes?: Buffer;
}

export interface Rows {
  /** Values are the texts that the server sent. */
  readonly rows: readonly (readonly (string | null)[])[];
  /** Empty for a statement that was already prepared: a description comes only with parsing. */
  readonly fields: readonly pg.FieldDef[];
}

const EXECUTE = serialize.execute();

/** A statement without values, whose messages are made once; one without a name yields no rows. */
export function constantStatement(text: string, name?: string): Statement {
  const run = [serialize.bind({ statement: name ?? '' }), EXECUTE];
  if (name !== undefined) return { name, text, bytes: Buffer.concat(run) };
  return { text, bytes: Buffer.concat([serialize.parse({ text }), ...run]) };
}

/** Adds what runs it; what prepares it, too, unless the server is known to have it. */
export function addMessages(messages: Buffer[], statement: Statement, prepared: PreparedStatements): void {
  const { name, text, values = [], bytes } = statement;
  const leaving = statement.isAssembled === true && name !== undefined ? prepared.use(name) : undefined;
  if (leaving !== undefined) messages.push(serialize.close({ type: 'S', name: leaving }));
  const isReady = name !== undefined && prepared.has(name);
  if (!isReady && (name !== undefined || bytes === undefined)) {
    // The server may have it from before an error, or from another client of a pooler.
    if (name !== undefined) messages.push(serialize.close({ type: 'S', name }));
    messages.push(serialize.parse({ name: name ?? '', text }));
    messages.push(serialize.describe({ type: 'S', name: name ?? '' }));
  } else if (bytes !== undefined) {
    messages.push(bytes);
    return;
  }
  messages.push(serialize.bind({ statement: name ?? '', values }), EXECUTE);
}
