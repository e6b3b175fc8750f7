import { loadModule } from 'libpg-query';
import type pg from 'pg';
import type { ParamSchema, ResultType } from '../../../capabilities/model.ts';
import type {
  DescribedField,
  DescribedParam,
  StatementDescription,
} from '../../driver/describe-statement.ts';
import type { ServerType } from '../execute/prepared-query.ts';
import { sqlStateOf } from '../connection/server-errors.ts';
import type { Statement } from '../connection/statement.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { checkReached } from './functions/check-functions.ts';
import { DependencyCatalog } from './functions/dependency-catalog.ts';
import { findReached } from './functions/find-reached.ts';
import { step, type Refusal } from './plan-statement.ts';
import { namedObjects } from './statement/named-objects.ts';
import { namesOfParameters } from './statement/named-parameters.ts';
import { readFilled, readStatement, type ReadStatement } from './statement/read-statement.ts';
import { castParameter, isNode, walk } from './statement/tree.ts';
import { convertColumn, type ColumnType } from './types/convert-column.ts';
import { PIN_SEARCH_PATH } from '../execute/own-statements.ts';
import { withGrants } from './grants/missing-grants.ts';
import {
  learnTypes,
  askParameterTypes,
  type TypeCatalog,
  typeOfColumn,
  typesStatement,
  unknownTypes,
} from './types/server-types.ts';
import { FLOATS, INTEGERS, JSON_TYPES, OID } from '../dialect/type-oids.ts';
import { capabilityOfTexts } from '../../sql/verify/describe-statement.ts';

const WHOLE: ReadonlySet<ResultType> = new Set(['integer', 'boolean', 'string', 'object', 'array']);
/** indeterminate_datatype, ambiguous_parameter */
const UNTYPED = new Set(['42P18', '42P08']);
const CANDIDATES = ['integer', 'number', 'boolean', 'date', 'datetime', 'object', 'array'] as const;
const POSITION = { line: 1, column: 1 };

/**
 * Declares a statement's parameters by the types that PREPARE finds, and its fields by the columns that the server
 * describes. Nothing runs. Throws `DatabaseError`.
 */
export async function describeStatement(
  pool: SessionPool,
  name: string,
  sql: string,
): Promise<StatementDescription> {
  await loadModule();
  const capability = capabilityOfTexts(name, sql, namesOfParameters(sql));
  const declared = readStatement(capability);
  if (!declared.ok) return { ok: false, faults: declared.faults };
  const refusal = async (refused: Refusal): Promise<StatementDescription> => ({
    ok: false,
    faults: (await withGrants(pool, refused, declared.read.inspected.tree)).faults,
  });
  const named = namedObjects(declared.read.inspected.tree);
  const dependencies = new DependencyCatalog(pool);
  await dependencies.learn([named]);
  const reached = checkReached(capability, findReached(dependencies, named, [], []));
  if (reached.length > 0) return { ok: false, faults: reached };
  const { template } = declared.read;
  // Each place gets a number of its own: if only null is asked for, the server knows no type.
  const places = template.references.map((_, at) => ({ number: at + 1, casts: [] }));
  const bare = readFilled(capability, template, places);
  if (!bare.ok) return { ok: false, faults: bare.faults };
  const optional = optionalPlaces(bare.read);
  const typed = readFilled(
    capability,
    template,
    places.map((place) =>
      optional.get(place.number) === 'bare' ? { ...place, casts: ['pg_catalog.text'] } : place,
    ),
  );
  if (!typed.ok) return { ok: false, faults: typed.faults };
  const { text } = typed.read.rewritten;
  const asked = await askParameterTypes(pool, capability, text);
  if (!asked.ok) {
    const message =
      'has a parameter whose type the database cannot tell: cast each of them to one type, as in :name::integer';
    const faults = asked.faults.map((fault) =>
      UNTYPED.has(sqlStateOf(asked.error) ?? '') ? { ...fault, message } : fault,
    );
    return refusal({ ...asked, faults });
  }
  const params = template.params.map(({ name: param }, index): DescribedParam => {
    const numbers = places
      .map(({ number }) => number)
      .filter((number) => template.references[number - 1] === index);
    const telling = numbers.find((number) => optional.get(number) !== 'bare');
    const type = telling === undefined ? undefined : asked.types[telling - 1];
    return {
      name: param,
      schema: type === undefined ? { type: 'string' } : schemaOf(type),
      required: !numbers.some((number) => optional.has(number)),
    };
  });
  const described = await step(pool, capability, [
    { text: `select * from (\n${text}\n) q limit 0`, values: places.map(() => null) },
  ]);
  if (!described.ok) return refusal(described);
  const columns = described.output.results[0]?.fields ?? [];
  const catalog: TypeCatalog = new Map();
  const looked = await step(pool, capability, [
    PIN_SEARCH_PATH,
    typesStatement(unknownTypes(catalog, columns)),
    notNullStatement(columns),
    columnNames(columns),
  ]);
  if (!looked.ok) return refusal(looked);
  const [, known, notNull, names] = looked.output.results;
  if (known !== undefined) learnTypes(catalog, known);
  const mayAddNulls = addsNulls(typed.read);
  const nameOf = new Map(names?.rows.map(([table, column, name]) => [`${table}.${column}`, name]));
  const filled = new Set(notNull?.rows.map(([table, column]) => `${table}.${column}`));
  const fields = columns.map((column): DescribedField => {
    const type = typeOfColumn(catalog, column);
    const id = `${column.tableID}.${column.columnID}`;
    const isFilled = filled.has(id);
    const ofTable = nameOf.get(id) ?? undefined;
    const fieldType = resultTypeOf(column, type, looked.output.facts.version);
    // Other types have values that leave as null: NaN, infinities.
    const isWhole = WHOLE.has(fieldType) && type.oid !== OID.numeric;
    return {
      name: column.name,
      type: fieldType,
      ...(column.dataTypeID === OID.uuid ? { format: 'uuid' } : {}),
      nullable: mayAddNulls || !isFilled || !isWhole,
      ...(ofTable === undefined ? {} : { column: ofTable }),
    };
  });
  return { ok: true, statement: { params, fields } };
}

/**
 * The numbers of places where the statement asks whether a parameter is null, or has something else for it then. Nothing
 * tells the type of those that are `bare`.
 */
function optionalPlaces({ inspected }: ReadStatement): ReadonlyMap<number, 'bare' | 'typed'> {
  const optional = new Map<number, 'bare' | 'typed'>();
  walk(inspected.tree, (key, child) => {
    if (!isNode(child)) return;
    const isAsked = key === 'NullTest' && child['nulltesttype'] === 'IS_NULL';
    const asked: unknown = isAsked ? [child['arg']] : key === 'CoalesceExpr' ? child['args'] : [];
    for (const value of Array.isArray(asked) ? asked : []) {
      const isBare = isAsked && isNode(value) && isNode(value['ParamRef']);
      const number = castParameter(value);
      if (number !== undefined) optional.set(number, isBare ? 'bare' : 'typed');
    }
  });
  return optional;
}

function schemaOf(type: ServerType): ParamSchema {
  const scalar = scalarSchemaOf(type);
  return type.isArray ? { type: 'array', items: scalar } : scalar;
}

function scalarSchemaOf({ base, labels }: ServerType): ParamSchema {
  if (base === OID.bool) return { type: 'boolean' };
  if (INTEGERS.has(base)) return { type: 'integer' };
  if (FLOATS.has(base) || base === OID.numeric) return { type: 'number' };
  if (base === OID.date) return { type: 'date' };
  if (base === OID.timestamp || base === OID.timestamptz) return { type: 'datetime' };
  if (base === OID.uuid) return { type: 'uuid' };
  if (JSON_TYPES.has(base)) return { type: 'object' };
  return labels.length === 0 ? { type: 'string' } : { type: 'string', enum: labels };
}

/** The strictest type that takes the column: everything has a text form. JSON, which may be of any kind, has no other. */
function resultTypeOf(column: pg.FieldDef, type: ColumnType, version: number): ResultType {
  if (JSON_TYPES.has(type.oid)) return 'string';
  const converts = (candidate: ResultType): boolean => {
    const field = { name: column.name, type: candidate, nullable: true, position: POSITION };
    return convertColumn(field, type, version).ok;
  };
  return CANDIDATES.find(converts) ?? 'string';
}

function columnNames(columns: readonly pg.FieldDef[]): Statement {
  return {
    text: `select a.attrelid, a.attnum, a.attname
      from rows from (pg_catalog.unnest($1::pg_catalog.oid[]), pg_catalog.unnest($2::pg_catalog.int2[])) p (relation, number)
        join pg_catalog.pg_attribute a on a.attrelid = p.relation and a.attnum = p.number`,
    values: placesOf(columns),
  };
}

/** The oids of tables, and the numbers of their columns. */
function placesOf(columns: readonly pg.FieldDef[]): string[] {
  const ofTables = columns.filter(({ tableID, columnID }) => tableID > 0 && columnID > 0);
  return [
    `{${ofTables.map(({ tableID }) => tableID).join(',')}}`,
    `{${ofTables.map(({ columnID }) => columnID).join(',')}}`,
  ];
}

/** Asks which columns hold no nulls. Of tables with children only a partitioned one speaks for them, too. */
export function notNullStatement(columns: readonly pg.FieldDef[]): Statement {
  return {
    text: `select a.attrelid, a.attnum
      from rows from (pg_catalog.unnest($1::pg_catalog.oid[]), pg_catalog.unnest($2::pg_catalog.int2[])) p (relation, number)
        join pg_catalog.pg_class c on c.oid = p.relation
        join pg_catalog.pg_attribute a on a.attrelid = p.relation and a.attnum = p.number
      where a.attnotnull and (c.relkind = 'p' or c.relkind = 'r' and not c.relhassubclass)
        and not exists (select from pg_catalog.pg_constraint n
          where n.conrelid = c.oid and n.contype = 'n' and not n.convalidated and a.attnum = any (n.conkey))`,
    values: placesOf(columns),
  };
}

/** Whether a row may have a null that its table does not: by an outer join, grouping sets, or a branch of a set. */
export function addsNulls({ inspected }: Pick<ReadStatement, 'inspected'>): boolean {
  let adds = false;
  walk(inspected.tree, (key, child) => {
    if (key === 'jointype' && child !== 'JOIN_INNER') adds = true;
    if (key === 'GroupingSet') adds = true;
    if (key === 'op' && typeof child === 'string' && child.startsWith('SETOP_') && child !== 'SETOP_NONE')
      adds = true;
  });
  return adds;
}
