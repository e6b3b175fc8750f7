import type pg from 'pg';

export interface Statement {
  /** Prepared under this name once per connection; without one it is parsed each time. */
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly (string | null)[];
}

export interface Rows {
  /** Every value as the text that the server sent. */
  readonly rows: readonly (readonly (string | null)[])[];
  readonly fields: readonly pg.FieldDef[];
}

export type Outcome =
  | { readonly ok: true; readonly result: Rows }
  | { readonly ok: false; readonly error: Error };

interface ExtendedQuery extends pg.QueryArrayConfig<(string | null)[]> {
  /** Without it node-postgres sends text without values by the simple protocol, which runs `COMMIT; DROP ...`. */
  queryMode: 'extended';
}

const asText = (value: string): string => value;
const untouched: pg.CustomTypesConfig = { getTypeParser: () => asText };

/**
 * Sends all statements at once, each by the extended protocol, and resolves with their outcomes in order.
 * Never rejects; a lost connection is the outcome of every statement it left unanswered.
 */
export function fly(client: pg.Client, statements: readonly Statement[]): Promise<readonly Outcome[]> {
  return new Promise((resolve) => {
    const outcomes: Outcome[] = [];
    let left = statements.length;
    const { stream } = client.connection;
    // One write for the whole flight instead of one for each statement.
    stream.cork();
    for (const [index, statement] of statements.entries()) {
      client.query<(string | null)[]>(configOf(statement), (error: Error | null, result) => {
        outcomes[index] = error === null ? { ok: true, result } : { ok: false, error };
        left -= 1;
        if (left === 0) resolve(outcomes);
      });
    }
    stream.uncork();
  });
}

function configOf(statement: Statement): ExtendedQuery {
  return {
    text: statement.text,
    values: [...(statement.values ?? [])],
    rowMode: 'array',
    types: untouched,
    queryMode: 'extended',
    ...(statement.name === undefined ? {} : { name: statement.name }),
  };
}

export function firstError(outcomes: readonly Outcome[]): Error | undefined {
  for (const outcome of outcomes) if (!outcome.ok) return outcome.error;
  return undefined;
}
