import type pg from 'pg';
import type { Capability } from '../../../../capabilities/model.ts';
import type { SortTerm } from '../../../../capabilities/model.ts';
import type { VerificationFault } from '../../../driver/errors.ts';
import type { PageDialect, PageTerm } from '../../../clauses/page-condition.ts';
import { QUERY_NAME } from '../../../clauses/statement-source.ts';
import { quoteIdentifier } from '../../dialect/quote-identifier.ts';
import { FIRST_USER_OID, OID } from '../../dialect/type-oids.ts';
import { PIN_SEARCH_PATH } from '../../execute/own-statements.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { step, type RefusedStep } from '../plan-statement.ts';
import type { BorderField } from '../wrap-select.ts';

/** With their schema: others of that name might stand earlier on the search path. */
export const PAGE_DIALECT: PageDialect = {
  below: 'operator(pg_catalog.<)',
  above: 'operator(pg_catalog.>)',
  atMost: 'operator(pg_catalog.<=)',
  atLeast: 'operator(pg_catalog.>=)',
  equals: 'operator(pg_catalog.=)',
  hasRowValues: true,
  row: 'row',
};

export interface SqlOrder {
  readonly name: string;
  readonly orderBy: string;
  /** Their values are the parameters from `firstValue` on. */
  readonly pageTerms: (firstValue: number) => readonly PageTerm[];
  readonly border: readonly BorderField[];
  /** The casts of the values of a cursor, from text on. */
  readonly casts: readonly string[];
  /** Fields, directions and types. */
  readonly terms: string;
}

/** The types whose values a text keeps and whose comparison is their order, by oid. */
const KEPT: ReadonlyMap<number, string> = new Map([
  ...(
    ['int2', 'int4', 'int8', 'numeric', 'float4', 'float8', 'bool', 'text', 'varchar', 'bpchar'] as const
  ).map((name): [number, string] => [OID[name], name]),
  ...(['date', 'time', 'timetz', 'timestamp', 'timestamptz', 'interval', 'uuid'] as const).map(
    (name): [number, string] => [OID[name], name],
  ),
]);
const MOMENTS: ReadonlySet<number> = new Set([OID.date, OID.timestamp, OID.timestamptz]);

/** The orders of a capability, or what is wrong with them. `columns` are those of its statement. */
export async function sqlOrders(
  pool: SessionPool,
  capability: Capability,
  columns: readonly pg.FieldDef[],
): Promise<
  | { readonly ok: true; readonly orders: readonly SqlOrder[] }
  | { readonly ok: false; readonly faults: readonly VerificationFault[] }
> {
  const { clauses = { orders: [], hasPages: false } } = capability;
  const enums = await enumTypes(pool, capability, columns);
  if (!enums.ok) return enums;
  const faults: VerificationFault[] = [];
  const orders = clauses.orders.map(({ name, terms, position }): SqlOrder => {
    const typed = terms.map((term) => {
      const column = columns.find((each) => each.name === term.field);
      const oid = column?.dataTypeID ?? 0;
      const cast = KEPT.has(oid) ? `pg_catalog.${KEPT.get(oid)}` : enums.names.get(oid);
      if (cast === undefined && clauses.hasPages && column !== undefined) {
        const path = `capabilities.${capability.name}.${name === '' ? 'paging' : `sort.${name}`}`;
        const message = `names \`${term.field}\`, whose type no cursor keeps: cast it in \`sql\`, as in ${term.field}::text as ${term.field}, or remove it`;
        faults.push({ path, position, message });
      }
      return { ...term, oid, cast: cast ?? 'pg_catalog.text' };
    });
    return sqlOrder(capability, name, typed);
  });
  return faults.length > 0 ? { ok: false, faults } : { ok: true, orders };
}

type TypedTerm = SortTerm & { readonly oid: number; readonly cast: string };

function sqlOrder(capability: Capability, name: string, terms: readonly TypedTerm[]): SqlOrder {
  return {
    name,
    orderBy: orderByOf(terms),
    pageTerms: (firstValue) =>
      terms.map((term, at) => ({
        column: column(term),
        isDescending: term.isDescending,
        nullsFirst: hasNullsFirst(term),
        mayBeNull: mayBeNull(capability, term),
        value: ['(', firstValue + at, `::pg_catalog.text::${term.cast})`],
      })),
    border: terms.map(({ field, oid }) => ({ name: field, toText: (value) => textOf(value, oid) })),
    casts: terms.map(({ cast }) => `pg_catalog.text::${cast}`),
    terms: JSON.stringify(
      terms.map(({ field, isDescending, nulls, cast }) => [field, isDescending, nulls, cast]),
    ),
  };
}

export function orderByOf(terms: readonly SortTerm[]): string {
  return terms
    .map((term) => {
      const nulls = term.nulls === undefined ? '' : ` nulls ${term.nulls}`;
      return `${column(term)} ${term.isDescending ? 'desc' : 'asc'}${nulls}`;
    })
    .join(', ');
}

function column({ field }: SortTerm): string {
  return `${QUERY_NAME}.${quoteIdentifier(field)}`;
}

export function hasNullsFirst({ nulls, isDescending }: SortTerm): boolean {
  return nulls === undefined ? isDescending : nulls === 'first';
}

function mayBeNull({ result }: Pick<Capability, 'result'>, { field }: SortTerm): boolean {
  return result.find(({ name }) => name === field)?.nullable !== false;
}

/** The text form of moments and intervals depends on settings, but not in JSON, and not of single numbers. */
function textOf(value: string, oid: number): string {
  if (MOMENTS.has(oid)) return `(pg_catalog.to_jsonb(${value}) operator(pg_catalog.#>>) '{}')`;
  if (oid === OID.interval) return intervalText(value);
  return `${value}::pg_catalog.text`;
}

/** With a sign before each number, since some settings let the first sign count for all. */
function intervalText(value: string): string {
  const part = (name: string): string => `pg_catalog.date_part('${name}', ${value})`;
  const signed = (number: string, unit: string): string =>
    `pg_catalog.to_char((${number})::pg_catalog.int8, 'FMSG9999999999999999990'), ' ${unit} '`;
  const months = `${part('year')} operator(pg_catalog.*) 12 operator(pg_catalog.+) ${part('month')}`;
  const numbers = [
    signed(months, 'mons'),
    signed(part('day'), 'days'),
    signed(part('hour'), 'hours'),
    signed(part('minute'), 'mins'),
    signed(part('microseconds'), 'us'),
  ];
  return `case when pg_catalog.isfinite(${value}) then pg_catalog.concat(${numbers.join(', ')}) else ${value}::pg_catalog.text end`;
}

/** The names of the enums among the types of columns, as SQL with their schemas, by oid. */
async function enumTypes(
  pool: SessionPool,
  capability: Capability,
  columns: readonly pg.FieldDef[],
): Promise<{ readonly ok: true; readonly names: ReadonlyMap<number, string> } | RefusedStep> {
  const fields = new Set(capability.clauses?.orders.flatMap(({ terms }) => terms.map(({ field }) => field)));
  const oids = columns
    .filter(({ name, dataTypeID }) => fields.has(name) && dataTypeID >= FIRST_USER_OID)
    .map(({ dataTypeID }) => dataTypeID);
  if (oids.length === 0) return { ok: true, names: new Map() };
  const asked = await step(pool, capability, [
    PIN_SEARCH_PATH,
    {
      text: `select t.oid, pg_catalog.format_type(t.oid, null) from pg_catalog.pg_type t
        where t.typtype = 'e' and t.oid = any ($1::pg_catalog.oid[])`,
      values: [`{${oids.join(',')}}`],
    },
  ]);
  if (!asked.ok) return asked;
  const rows = asked.output.results[1]?.rows ?? [];
  return { ok: true, names: new Map(rows.map(([oid, name]) => [Number(oid), name ?? ''])) };
}
