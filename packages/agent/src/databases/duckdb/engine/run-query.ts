import { Failure, type ReadQuestion, type RunQuestion } from '../../engine-process/engine-questions.ts';
import { RowTexts } from '../../engine-process/row-texts.ts';
import { ProvenFaults, type ValueFault } from '../../sql/probes/proven-faults.ts';
import type { ValueProbe } from '../../sql/probes/value-probes.ts';
import { bindValue } from './bind-values.ts';
import { failureOf, INTERRUPTED, kindOfError, mistakeOf } from './failure.ts';
import { judgeStatement } from './judge-statement.ts';
import type { DuckdbConnection, DuckdbStatement, DuckdbStream } from './library.ts';
import { openFile, type OpenFile } from './open-file.ts';
import type {
  JudgeQuestion,
  OpenQuestion,
  ProbeAnswer,
  ProbeQuestion,
  QueryDefinition,
} from './questions.ts';
import { readSchema, type Schema } from './schema.ts';

/** Runs the queries that it is told of, one at a time. */
export class QueryRunner {
  readonly #question: OpenQuestion;
  readonly #file: OpenFile;
  readonly #schema: Schema;
  /** Kept on arrival, because the first run of a query may be stopped before the query is prepared. */
  readonly #definitions = new Map<number, QueryDefinition>();
  readonly #statements = new Map<number, DuckdbStatement>();

  private constructor(question: OpenQuestion, file: OpenFile, schema: Schema) {
    this.#question = question;
    this.#file = file;
    this.#schema = schema;
  }

  static async open(question: OpenQuestion): Promise<QueryRunner> {
    const file = await openFile(question);
    return new QueryRunner(question, file, await readSchema(file.connection));
  }

  judge(question: JudgeQuestion): ReturnType<typeof judgeStatement> {
    const { folder, readFiles } = this.#question;
    return judgeStatement(this.#file.connection, this.#schema, { folder, paths: readFiles }, question);
  }

  probe(question: ProbeQuestion): Promise<ProbeAnswer> {
    return probeStatement(this.#file.connection, question);
  }

  async read({ sql }: ReadQuestion): Promise<readonly (readonly unknown[])[]> {
    return (await this.#file.connection.runAndReadAll(sql)).getRows();
  }

  interrupt(): void {
    this.#file.connection.interrupt();
  }

  /** The body of the answer. Throws `Failure` and what DuckDB throws. */
  async run({ query, definition, values, forget = [] }: RunQuestion<QueryDefinition>): Promise<Buffer> {
    if (!this.#file.isCurrent()) {
      const message = 'the file has been replaced: it is opened again';
      throw new Failure({ kind: 'unavailable', message });
    }
    for (const each of forget) {
      this.#statements.get(each)?.destroySync();
      this.#statements.delete(each);
      this.#definitions.delete(each);
    }
    if (definition !== undefined) this.#definitions.set(query, definition);
    const known = this.#definitions.get(query);
    if (known === undefined) throw new Error(`there is no query ${query}`);
    const statement = this.#statements.get(query) ?? (await this.#prepare(query, known));
    try {
      for (const [index, type] of known.params.entries())
        bindValue(statement, index + 1, type, values[index]);
      return await collect(known, await statement.stream());
    } catch (error) {
      const mistake = mistakeOf(error);
      if (mistake === undefined) throw error;
      const faults = await faultsOf(this.#file.connection, known, values, mistake);
      throw new Failure({ ...failureOf(error), faults });
    }
  }

  async #prepare(query: number, { judged, text }: QueryDefinition): Promise<DuckdbStatement> {
    const result = await this.judge(judged);
    if (!result.ok) {
      throw new Failure({
        kind: 'failed',
        message: `the file has changed, and the SQL now ${result.problem}`,
      });
    }
    const statement = await this.#file.connection.prepare(text);
    this.#statements.set(query, statement);
    return statement;
  }
}

/** The values that are refused in the same way by themselves. */
async function faultsOf(
  connection: DuckdbConnection,
  { judged, probes, params }: QueryDefinition,
  values: readonly unknown[],
  mistake: string,
): Promise<readonly ValueFault[]> {
  const faults = new ProvenFaults();
  for (const probe of [...(await castsOf(connection, judged.text)), ...probes]) {
    if (!faults.isOpen(probe)) continue;
    const statement = await connection.prepare(probe.text).catch(() => undefined);
    if (statement === undefined) continue;
    try {
      for (const [index, param] of probe.params.entries())
        bindValue(statement, index + 1, params[param] ?? 'string', values[param]);
      await (await statement.stream()).fetchChunk();
    } catch (error) {
      if (kindOfError(error) === INTERRUPTED) throw error;
      faults.add(probe, mistakeOf(error) === mistake ? mistake : undefined);
    } finally {
      statement.destroySync();
    }
  }
  return faults.all;
}

/** A probe for each parameter that casts it to the type that DuckDB finds for it. */
async function castsOf(connection: DuckdbConnection, text: string): Promise<readonly ValueProbe[]> {
  const statement = await connection.prepare(text);
  try {
    const numbers = Array.from({ length: statement.parameterCount }, (_, index) => index + 1);
    const typed = numbers.filter((number) => statement.parameterTypeId(number) !== 0);
    return typed.map((number) => ({
      text: `select cast($1 as ${statement.parameterType(number).toString()})`,
      params: [number - 1],
    }));
  } finally {
    statement.destroySync();
  }
}

/** The types that DuckDB finds for parameters, and whether it accepts the bound values. Does not run the statement. */
async function probeStatement(
  connection: DuckdbConnection,
  { text, bound = [] }: ProbeQuestion,
): Promise<ProbeAnswer> {
  let statement: DuckdbStatement | undefined;
  try {
    statement = await connection.prepare(bound.length === 0 ? text : `explain ${text}`);
    const types = typesOf(statement);
    for (const [index, [type, value]] of bound.entries()) bindValue(statement, index + 1, type, value);
    if (bound.length > 0) await statement.runAndReadAll();
    return { types };
  } catch (error) {
    return { types: [], error: kindOfError(error) };
  } finally {
    statement?.destroySync();
  }
}

function typesOf(statement: DuckdbStatement): readonly (string | null)[] {
  return Array.from({ length: statement.parameterCount }, (_, index) =>
    statement.parameterTypeId(index + 1) === 0 ? null : statement.parameterType(index + 1).toString(),
  );
}

async function collect(
  { limits, required, hasPages }: QueryDefinition,
  stream: DuckdbStream,
): Promise<Buffer> {
  const rows = new RowTexts(limits);
  let last: readonly (string | null)[] = [];
  for (let chunk = await stream.fetchChunk(); (chunk?.rowCount ?? 0) > 0; chunk = await stream.fetchChunk()) {
    for (const [row, missing, isTied, ...keys] of chunk?.getRows() ?? []) {
      const isTaken = rows.mayTake() && rows.take(textOf(row, missing, required));
      if (!isTaken) return hasPages ? rows.write({ last, isTied: isTied === true }) : rows.write();
      if (hasPages) last = keys.map((key) => (typeof key === 'string' ? key : null));
    }
  }
  return rows.write();
}

/** Throws `Failure` for a row that lacks a field. */
function textOf(row: unknown, missing: unknown, required: readonly string[]): string | undefined {
  if (missing !== null) {
    const field = required[Number(missing)] ?? '';
    throw new Failure({ kind: 'failed', message: `field ${field} is null, and its nullable is false` });
  }
  return typeof row === 'string' ? withoutInfinities(row) : undefined;
}

const MAY_HAVE_INFINITY = /NaN|Infinity|inf/;
/** Matches texts as a whole, so that their content stays. */
const INFINITY = /"(?:[^"\\]|\\.)*"|-?(?:NaN|nan|Infinity|inf)/g;

/** In lists and structs DuckDB writes numbers that JSON does not have. */
function withoutInfinities(json: string): string {
  if (!MAY_HAVE_INFINITY.test(json)) return json;
  return json.replace(INFINITY, (found) => (found.startsWith('"') ? found : 'null'));
}
