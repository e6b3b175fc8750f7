import type { JudgeAnswer } from '../../engine-process/engine-questions.ts';
import { kindOfError } from './failure.ts';
import { changingFunctions } from './known-functions.ts';
import {
  isTree,
  judgeTree,
  problemOfFunction,
  problemOfTableFunction,
  type ReadFiles,
  type Tree,
  type TreeName,
} from './judge-tree.ts';
import type { DuckdbConnection } from './library.ts';
import { relationKey, schemaOfKey } from './names.ts';
import type { DuckdbColumn, JudgeQuestion } from './questions.ts';
import type { Schema } from './schema.ts';

/**
 * The schemas in which a name without a schema may be. Inside a view its own schema is added, also for the macros that
 * it calls.
 */
const HOMES: readonly string[] = ['main'];
const PLAIN_NAME = /^[a-z_][a-z0-9_]*$/;

type Refused = Extract<JudgeAnswer<DuckdbColumn>, { ok: false }>;

export type JudgedStatement =
  | {
      readonly ok: true;
      readonly columns: readonly DuckdbColumn[];
      /** Whether its outermost SELECT says how many rows there may be, and in which order they come. */
      readonly isLimited: boolean;
      readonly isOrdered: boolean;
      /** Whether it reaches a function whose answer may differ for the same arguments. */
      readonly mayDiffer: boolean;
      /** Numbers of the parameters whose types have to be written. If there are any, `columns` is empty. */
      readonly untyped: readonly number[];
    }
  /** `isTypes`: the type of a parameter may be the reason. */
  | (Refused & { readonly isTypes?: true });

/** Whether a statement only reads, by the tree that DuckDB makes of it, and of each view and macro that it reaches. */
export async function judgeStatement(
  connection: DuckdbConnection,
  schema: Schema,
  files: ReadFiles,
  { text, parameters, allowFunctions }: JudgeQuestion,
): Promise<JudgedStatement> {
  if (schema.hiding !== undefined) {
    return refused(
      `cannot be judged: the database has a macro named ${schema.hiding}, like a function of DuckDB: rename the macro`,
    );
  }
  const serialized = await serialize(connection, text);
  if (!serialized.ok) return serialized;
  const { tree } = serialized;
  const judged = judgeTree(tree, files);
  if (!judged.ok) return judged;
  const numbers = Array.from({ length: parameters }, (_, index) => String(index + 1));
  const found = judged.names.parameters;
  if (found.size !== parameters || !numbers.every((number) => found.has(number))) {
    return refused('has parameters where DuckDB sees none: write them as values');
  }
  const seen = new Set<string>();
  let mayDiffer = false;
  const problem = await problemOfNames(judged.names, HOMES);
  if (problem !== undefined) return refused(problem);
  const described = await describe(connection, text);
  if (!described.ok) return described;
  const modifiers = modifiersOf(tree);
  return {
    ...described,
    isLimited: modifiers.some((type) => type.startsWith('LIMIT')),
    isOrdered: modifiers.includes('ORDER_MODIFIER'),
    mayDiffer,
  };

  async function problemOfNames(
    names: Extract<typeof judged, { ok: true }>['names'],
    homes: readonly string[],
  ): Promise<string | undefined> {
    mayDiffer ||= names.functions.some(({ name }) => changingFunctions.has(name));
    const problemOfCall = (
      { name }: TreeName,
      ofBuiltIn: string | undefined,
    ): Promise<string | undefined> | string | undefined =>
      schema.macros.has(name) ? problemOfMacro(name, homes) : ofBuiltIn;
    return (
      (await first(names.relations, (name) => problemOfRelation(name, names.commonTables, homes))) ??
      (await first(names.functions, (name) =>
        problemOfCall(name, problemOfFunction(name, allowFunctions)),
      )) ??
      first(names.tableFunctions, (name) => problemOfCall(name, problemOfTableFunction(name)))
    );
  }

  async function problemOfRelation(
    name: TreeName,
    commonTables: ReadonlySet<string>,
    homes: readonly string[],
  ): Promise<string | undefined> {
    const keys = keysOf(name, homes);
    // The name of a file that is read has a dot.
    if (name.schema === '' && commonTables.has(name.name) && PLAIN_NAME.test(name.name)) {
      if (schema.ownViews.has(name.name)) {
        return `names a common table expression ${name.name}, like a view of DuckDB: give it another name`;
      }
      // Elsewhere in the statement the same name may be the table or the view.
    } else if (keys.length === 0) {
      return 'reads what is no table and no view of the database: check the names, and read files by read_csv and its kin';
    }
    return first(keys, (key) => (schema.tables.has(key) ? problemOfTable(key) : problemOfView(key, homes)));
  }

  /** A name without a schema may be in any of the homes. */
  function keysOf({ catalog, schema: own, name }: TreeName, homes: readonly string[]): readonly string[] {
    if (catalog !== '' && catalog !== schema.catalog) return [];
    const isBare = own === '' || (catalog === '' && own === schema.catalog);
    const keys = (isBare ? homes : [own]).map((home) => relationKey(home, name));
    return keys.filter((key) => schema.tables.has(key) || schema.views.has(key));
  }

  async function problemOfView(key: string, homes: readonly string[]): Promise<string | undefined> {
    const view = schema.views.get(key);
    if (view === undefined) return 'reads a view whose text cannot be judged: write its SELECT into the SQL';
    const more = [...new Set([...homes, schemaOfKey(key)])].toSorted();
    return problemInside(view, 'reads a view that', more);
  }

  async function problemOfTable(key: string): Promise<string | undefined> {
    const generated = schema.tables.get(key);
    if (generated === undefined) return 'reads a table whose text cannot be judged';
    const how = 'reads a table with a generated column that';
    return first(generated, (expression) => problemInside(`select ${expression}`, how, HOMES));
  }

  function problemOfMacro(name: string, homes: readonly string[]): Promise<string | undefined> {
    const how = `calls the macro ${name}, which`;
    return first(schema.macros.get(name) ?? [], (definition) => problemInside(definition, how, homes));
  }

  async function problemInside(
    sql: string,
    how: string,
    homes: readonly string[],
  ): Promise<string | undefined> {
    const key = JSON.stringify([sql, ...homes]);
    if (seen.has(key)) return undefined;
    seen.add(key);
    const inner = await serialize(connection, sql);
    if (!inner.ok) return `${how} ${inner.problem}`;
    const innerNames = judgeTree(inner.tree, files);
    if (!innerNames.ok) return `${how} ${innerNames.problem}`;
    const problem = await problemOfNames(innerNames.names, homes);
    return problem === undefined ? undefined : `${how} ${problem}`;
  }
}

async function first<Item>(
  items: readonly Item[],
  problemOf: (item: Item) => Promise<string | undefined> | string | undefined,
): Promise<string | undefined> {
  for (const item of items) {
    const problem = await problemOf(item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The modifiers of the outermost SELECT. */
function modifiersOf(tree: Tree): readonly string[] {
  const { modifiers } = tree;
  return Array.isArray(modifiers) ? modifiers.filter(isTree).map(({ type }) => String(type)) : [];
}

type Serialized = { readonly ok: true; readonly tree: Tree } | Refused;

async function serialize(connection: DuckdbConnection, sql: string): Promise<Serialized> {
  const reader = await connection.runAndReadAll(
    'select system.main.json_serialize_sql($1::varchar, skip_null := true, skip_empty := true)',
    [sql],
  );
  const answer: unknown = JSON.parse(String(reader.getRows()[0]?.[0]));
  const statements = isTree(answer) && Array.isArray(answer['statements']) ? answer['statements'] : [];
  const [statement, ...others] = statements.filter(isTree);
  if (isTree(answer) && answer['error'] === true) {
    const detail = String(answer['error_message']);
    return answer['error_type'] === 'not implemented'
      ? refused('is no SELECT: only one statement that begins with SELECT, WITH or FROM is allowed')
      : {
          ok: false,
          problem: 'is not accepted by the database: syntax error',
          detail,
        };
  }
  if (statement === undefined || others.length > 0)
    return refused('has more than one statement: write one SELECT');
  const { node } = statement;
  return isTree(node) ? { ok: true, tree: node } : refused('is empty: write one SELECT');
}

type Described =
  | { readonly ok: true; readonly columns: readonly DuckdbColumn[]; readonly untyped: readonly number[] }
  | Extract<JudgedStatement, { ok: false }>;

async function describe(connection: DuckdbConnection, text: string): Promise<Described> {
  try {
    const statement = await connection.prepare(text);
    const indexes = Array.from({ length: statement.columnCount }, (_, index) => index);
    const isTyped = indexes.every((index) => statement.columnTypeId(index) !== 0);
    const numbers = Array.from({ length: statement.parameterCount }, (_, index) => index + 1);
    const unknown = numbers.filter((number) => statement.parameterTypeId(number) === 0);
    const untyped = isTyped ? [] : unknown.length > 0 ? unknown : numbers;
    const columns = (isTyped ? indexes : []).map((index) => {
      const type = statement.columnType(index);
      return { name: statement.columnName(index), type: type.alias ?? type.toString() };
    });
    statement.destroySync();
    return { ok: true, columns, untyped };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    const kind = kindOfError(error);
    const problem = `is not accepted by the database: ${kind} Error`;
    return {
      ok: false,
      problem,
      detail,
      ...(kind === 'Binder' || kind === 'Conversion' ? { isTypes: true } : {}),
    };
  }
}

function refused(problem: string): Refused {
  return { ok: false, problem };
}
