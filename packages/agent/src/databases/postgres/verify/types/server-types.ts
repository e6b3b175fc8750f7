import type pg from 'pg';
import type { ColumnType } from './convert-column.ts';
import type { Rows, Statement } from '../../connection/statement.ts';
import { textArray } from '../../dialect/text-array.ts';
import type { ServerType } from '../../execute/prepared-query.ts';
import { enumLabels } from '../../execute/changed-labels.ts';
import { FIRST_USER_OID } from '../../dialect/type-oids.ts';
import type { Capability } from '../../../../capabilities/model.ts';
import { PIN_SEARCH_PATH } from '../../execute/own-statements.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { preparedName, prepareOnly, step, type RefusedStep } from '../plan-statement.ts';

const IS_ARRAY = "t.typcategory = 'A' and t.typlen = -1 and t.typelem <> 0";

/**
 * Asks for the public names of types that are named as SQL, in their order: null for those of the database's own making.
 */
export function titlesStatement(names: readonly string[]): Statement {
  return {
    text: `select case when t.oid operator(pg_catalog.<) '${FIRST_USER_OID}' then pg_catalog.format_type(t.oid, null) end
      from pg_catalog.unnest($1::pg_catalog.text[]) with ordinality a (name, place),
        lateral (select pg_catalog.to_regtype(a.name)::pg_catalog.oid) t (oid) order by a.place`,
    values: [textArray(names)],
  };
}

/** Asks the server of which types it takes the parameters of a statement, in the order of their numbers. */
export async function askParameterTypes(
  pool: SessionPool,
  capability: Capability,
  text: string,
): Promise<{ readonly ok: true; readonly types: readonly ServerType[] } | RefusedStep> {
  const name = preparedName();
  const [prepare, deallocate] = prepareOnly(text, name);
  const statements = [prepare, PIN_SEARCH_PATH, parameterTypesStatement(name), deallocate];
  const asked = await step(pool, capability, statements);
  return asked.ok ? { ok: true, types: readParameterTypes(asked.output.results[2]?.rows ?? []) } : asked;
}

function parameterTypesStatement(prepared: string): Statement {
  return {
    text: `with recursive asked (place, oid) as (
        select p.place, p.type::pg_catalog.oid from pg_catalog.pg_prepared_statements s,
          pg_catalog.unnest(s.parameter_types) with ordinality p (type, place) where s.name = '${prepared}'),
      base (place, oid, is_array) as (
        select a.place, a.oid, false from asked a
        union all
        select b.place, case t.typtype when 'd' then t.typbasetype else t.typelem end, b.is_array or t.typtype <> 'd'
          from base b join pg_catalog.pg_type t on t.oid = b.oid where t.typtype = 'd' or ${IS_ARRAY})
      select a.oid, pg_catalog.format('%I.%I', n.nspname, o.typname), o.typtype = 'd', b.oid, b.is_array, t.typtype, t.typcategory,
        pg_catalog.format_type(b.oid, null), (select pg_catalog.json_agg(e.enumlabel order by e.enumsortorder)
          from pg_catalog.pg_enum e where e.enumtypid = b.oid)
      from asked a join pg_catalog.pg_type o on o.oid = a.oid join pg_catalog.pg_namespace n on n.oid = o.typnamespace
        join base b on b.place = a.place join pg_catalog.pg_type t on t.oid = b.oid
      where not (t.typtype = 'd' or ${IS_ARRAY}) order by a.place`,
  };
}

function readParameterTypes(rows: Rows['rows']): readonly ServerType[] {
  return rows.map(([oid, sql, isDomain, base, isArray, form, category, title, labels]) => ({
    sql: sql ?? '',
    base: Number(base),
    isArray: isArray === 't',
    isDomain: isDomain === 't',
    form: form ?? '',
    category: category ?? '',
    title: Number(oid) < FIRST_USER_OID ? (title ?? undefined) : undefined,
    labels: enumLabels(labels),
  }));
}

type CatalogType = Omit<ColumnType, 'oid' | 'modifier'>;

/** By oid; filled as columns of new types are met. */
export type TypeCatalog = Map<number, CatalogType>;

export function unknownTypes(catalog: TypeCatalog, fields: readonly pg.FieldDef[]): readonly number[] {
  return [...new Set(fields.map((field) => field.dataTypeID))].filter((oid) => !catalog.has(oid));
}

/** A domain in an array counts as what it is based on. */
export function typesStatement(oids: readonly number[]): Statement {
  return {
    text: `select t.oid, case when t.typcategory in ('A', 'P') and t.typlen = -1 and t.typelem <> 0 then 'array'
        when t.typtype = 'c' then 'composite' else 'scalar' end,
      (with recursive base as (
          select e.oid, e.typbasetype from pg_catalog.pg_type e where e.oid = t.typelem
          union all select e.oid, e.typbasetype from base b join pg_catalog.pg_type e on e.oid = b.typbasetype)
        select b.oid from base b where b.typbasetype = 0),
      pg_catalog.format_type(t.oid, null)
      from pg_catalog.pg_type t where t.oid = any ($1::pg_catalog.oid[])`,
    values: [`{${oids.join(',')}}`],
  };
}

export function learnTypes(catalog: TypeCatalog, answer: Rows): void {
  for (const [oid, form, element, name] of answer.rows) {
    catalog.set(Number(oid), {
      form: form === 'array' || form === 'composite' ? form : 'scalar',
      name: name ?? 'unknown',
      ...(form === 'array' ? { element: Number(element) } : {}),
    });
  }
}

export function typeOfColumn(catalog: TypeCatalog, field: pg.FieldDef): ColumnType {
  const known = catalog.get(field.dataTypeID) ?? { form: 'scalar', name: 'unknown' };
  return { ...known, oid: field.dataTypeID, modifier: field.dataTypeModifier };
}
