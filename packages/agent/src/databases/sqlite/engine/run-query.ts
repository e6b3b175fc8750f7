import { Failure, writeTime, type RunQuestion } from '../../engine-process/engine-questions.ts';
import { RowTexts } from '../../engine-process/row-texts.ts';
import { ProvenFaults, type ValueFault } from '../../sql/probes/proven-faults.ts';
import { bindValue } from './bind-values.ts';
import { failureOf, mistakeOf } from './failure.ts';
import { problemOfProgram } from './judge-program.ts';
import { borderOf, requireNoNul, withNuls } from './page-border.ts';
import { valueOfCursor } from './cursor-values.ts';
import type { ParamType } from '../../../capabilities/model.ts';
import type { BoundValue, SqliteDatabase, SqliteStatement, SqliteValue } from './node-sqlite.ts';
import { openFile, type OpenFile } from './open-file.ts';
import { outputOf, rowText, type OutputField } from './row-text.ts';
import type { OpenQuestion, QueryDefinition } from './questions.ts';

type ValueFaults = readonly ValueFault[];
type Values = Readonly<Record<string, BoundValue>>;

interface PreparedStatement {
  readonly statement: SqliteStatement;
  readonly fields: readonly OutputField[];
  /** Whether its rows end with what `withNuls` adds. */
  readonly hasNuls: boolean;
}

/** Runs the queries that it is told of, each in a transaction of its own. */
export class QueryRunner {
  readonly #question: OpenQuestion;
  #file: OpenFile;
  readonly #definitions = new Map<number, QueryDefinition>();
  /** Statements that have been judged by the schema of `#schemaVersion`. */
  readonly #prepared = new Map<number, PreparedStatement>();
  #schemaVersion: unknown;
  /** Whether Node.js reads a text up to its first NUL character only. */
  readonly #endsAtNul: boolean;

  constructor(question: OpenQuestion) {
    this.#question = question;
    this.#file = openFile(question);
    this.#endsAtNul = this.#file.database.prepare('select char(97, 0) as text').get()?.['text'] === 'a';
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
      known.params.map((type, index) => [
        `?${index + 1}`,
        type === 'cursor' ? valueOfCursor(values[index]) : bindValue(type, values[index]),
      ]),
    );
    const started = performance.now();
    try {
      const body = this.within((database) =>
        collect(database, known, this.#statementOf(database, query, known), bound),
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
          bindValue(typeOf(params[param]), values[param]),
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
    const { allowFunctions, fields, pages } = definition;
    const hasNuls = pages !== undefined && this.#endsAtNul;
    const text = hasNuls ? withNuls(definition.text, pages.fields) : definition.text;
    // A statement verified at the start may read another table or view by now.
    const problem = problemOfProgram(database, text, allowFunctions);
    if (problem !== undefined) {
      throw new Failure({ kind: 'failed', message: `the schema has changed, and the SQL now ${problem}` });
    }
    const statement = database.prepare(text);
    statement.setReadBigInts(true);
    const fresh = { statement, fields: outputOf(fields, statement.columns()), hasNuls };
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

function typeOf(type: QueryDefinition['params'][number] | undefined): ParamType {
  return type === undefined || type === 'cursor' ? 'string' : type;
}

function collect(
  database: SqliteDatabase,
  { limits, pages, allowFunctions }: QueryDefinition,
  { statement, fields, hasNuls }: PreparedStatement,
  values: Values,
): Buffer {
  const rows = new RowTexts(limits);
  const steps = statement.iterate(values);
  let last: readonly SqliteValue[] | undefined;
  let next: readonly SqliteValue[] | undefined;
  try {
    let number = 0;
    for (const row of steps) {
      number += 1;
      next = row;
      if (!rows.mayTake() || !rows.take(rowText(row, fields, limits.maxBytes, number))) break;
      last = row;
    }
  } finally {
    // Without this, the next run after a failed step would fail with the same error.
    steps.return?.();
  }
  if (pages === undefined || !rows.isTruncated || last === undefined || next === undefined)
    return rows.write();
  const keys = pages.fields.map((field) => ({
    field,
    column: fields.find(({ name }) => name === field)?.column ?? -1,
  }));
  if (hasNuls) requireNoNul(last, keys);
  return rows.write(
    borderOf(keys, last, next, (...asked) =>
      hasRow(database, pages, allowFunctions, { bound: values, asked }),
    ),
  );
}

/** Whether a row of the statement is equal to all the values asked for, compared as its columns are sorted. */
function hasRow(
  database: SqliteDatabase,
  { fields, statement }: NonNullable<QueryDefinition['pages']>,
  allowFunctions: readonly string[],
  { bound, asked }: { readonly bound: Values; readonly asked: readonly (readonly BoundValue[])[] },
): boolean {
  const conditions = asked.flatMap((_values, set) =>
    // A plus keeps SQLite from converting the values, as a sort does not.
    fields.map((field, at) => `+svc_q."${field.replaceAll('"', '""')}" is :k${set}_${at}`),
  );
  const text = `select 1 from (${statement}\n) svc_q where ${conditions.join(' and ')} limit 1`;
  if (problemOfProgram(database, text, allowFunctions) !== undefined)
    throw new Error('cannot look for a row');
  const named = asked.flatMap((values, set) =>
    values.map((value, at): readonly [string, BoundValue] => [`:k${set}_${at}`, value]),
  );
  const steps = database.prepare(text).iterate({ ...bound, ...Object.fromEntries(named) });
  try {
    return steps.next().done !== true;
  } finally {
    steps.return?.();
  }
}
