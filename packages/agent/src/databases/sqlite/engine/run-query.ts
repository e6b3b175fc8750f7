import { Failure, writeTime, type RunQuestion } from '../../engine-process/engine-questions.ts';
import { RowTexts } from '../../engine-process/row-texts.ts';
import { ProvenFaults, type ValueFault } from '../../sql/probes/proven-faults.ts';
import { bindValue } from './bind-values.ts';
import { failureOf, mistakeOf } from './failure.ts';
import { problemOfProgram } from './judge-program.ts';
import type { BoundValue, SqliteDatabase, SqliteStatement } from './node-sqlite.ts';
import { openFile, type OpenFile } from './open-file.ts';
import { outputOf, rowText, type OutputField } from './row-text.ts';
import type { OpenQuestion, QueryDefinition } from './questions.ts';

type ValueFaults = readonly ValueFault[];

interface PreparedStatement {
  readonly statement: SqliteStatement;
  readonly fields: readonly OutputField[];
}

/** Runs the queries that it is told of, each in a transaction of its own. */
export class QueryRunner {
  readonly #question: OpenQuestion;
  #file: OpenFile;
  readonly #definitions = new Map<number, QueryDefinition>();
  /** Statements that have been judged by the schema of `#schemaVersion`. */
  readonly #prepared = new Map<number, PreparedStatement>();
  #schemaVersion: unknown;

  constructor(question: OpenQuestion) {
    this.#question = question;
    this.#file = openFile(question);
  }

  /** Runs `work` in a transaction that is rolled back, in which the schema stays the one that statements are judged by. */
  within<Result>(work: (database: SqliteDatabase) => Result): Result {
    if (!this.#file.isCurrent()) this.#reopen();
    const { database, begin, rollback, schemaVersion, readSchema } = this.#file;
    begin.run();
    try {
      // Reading it begins the transaction.
      const version = schemaVersion.get()?.['schema_version'];
      if (version !== this.#schemaVersion) {
        this.#prepared.clear();
        // Without this, a statement would be explained by the former schema, and then be run by this one.
        readSchema.get();
        this.#schemaVersion = version;
      }
      return work(database);
    } finally {
      // An error of the file or a lack of memory may have ended it already.
      if (database.isTransaction) rollback.run();
    }
  }

  /** The body of the answer. Throws `Failure` and what SQLite throws. */
  run({ query, definition, values, forget = [] }: RunQuestion<QueryDefinition>): Buffer {
    for (const each of forget) {
      this.#definitions.delete(each);
      this.#prepared.delete(each);
    }
    if (definition !== undefined) this.#definitions.set(query, definition);
    const known = this.#definitions.get(query);
    if (known === undefined) throw new Error(`there is no query ${query}`);
    const bound = Object.fromEntries(
      known.params.map((type, index) => [`?${index + 1}`, bindValue(type, values[index])]),
    );
    const started = performance.now();
    try {
      const body = this.within((database) =>
        collect(known, this.#statementOf(database, query, known), bound),
      );
      writeTime(body, performance.now() - started);
      return body;
    } catch (error) {
      const mistake = mistakeOf(error);
      if (mistake === undefined) throw error;
      throw new Failure({ ...failureOf(error), faults: this.#faultsOf(known, values, mistake) });
    }
  }

  /** The values that are refused in the same way by themselves. */
  #faultsOf({ probes, params }: QueryDefinition, values: readonly unknown[], mistake: string): ValueFaults {
    return this.within((database) => {
      const faults = new ProvenFaults();
      for (const probe of probes) {
        if (!faults.isOpen(probe)) continue;
        const bound = probe.params.map((param, index) => [
          `?${index + 1}`,
          bindValue(params[param] ?? 'string', values[param]),
        ]);
        const isRefused = refusalOf(database, probe.text, Object.fromEntries(bound)) === mistake;
        faults.add(probe, isRefused ? mistake : undefined);
      }
      return faults.all;
    });
  }

  #statementOf(database: SqliteDatabase, query: number, definition: QueryDefinition): PreparedStatement {
    const prepared = this.#prepared.get(query);
    if (prepared !== undefined) return prepared;
    const { text, allowFunctions, fields } = definition;
    // A statement verified at the start may read another table or view by now.
    const problem = problemOfProgram(database, text, allowFunctions);
    if (problem !== undefined) {
      throw new Failure({ kind: 'failed', message: `the schema has changed, and the SQL now ${problem}` });
    }
    const statement = database.prepare(text);
    statement.setReadBigInts(true);
    const fresh = { statement, fields: outputOf(fields, statement.columns()) };
    statement.setReturnArrays(true);
    this.#prepared.set(query, fresh);
    return fresh;
  }

  #reopen(): void {
    this.#prepared.clear();
    this.#schemaVersion = undefined;
    const former = this.#file.database;
    this.#file = openFile(this.#question);
    former.close();
  }
}

/** What is wrong with the values of a probe; undefined if nothing is, or if it is no statement. */
function refusalOf(
  database: SqliteDatabase,
  text: string,
  values: Readonly<Record<string, BoundValue>>,
): string | undefined {
  let statement: SqliteStatement;
  try {
    statement = database.prepare(text);
  } catch {
    return undefined;
  }
  let steps: ReturnType<SqliteStatement['iterate']> | undefined;
  try {
    statement.setReadBigInts(true);
    steps = statement.iterate(values);
    steps.next();
    return undefined;
  } catch (error) {
    return mistakeOf(error, text);
  } finally {
    steps?.return?.();
  }
}

function collect(
  { limits }: QueryDefinition,
  { statement, fields }: PreparedStatement,
  values: Readonly<Record<string, BoundValue>>,
): Buffer {
  const rows = new RowTexts(limits);
  const steps = statement.iterate(values);
  try {
    let number = 0;
    for (const row of steps) {
      number += 1;
      if (!rows.mayTake() || !rows.take(rowText(row, fields, limits.maxBytes, number))) break;
    }
  } finally {
    // Without this, the next run after a failed step would fail with the same error.
    steps.return?.();
  }
  return rows.write();
}
