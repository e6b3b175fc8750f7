import type pg from 'pg';
import type { ColumnType } from './convert-column.ts';
import type { Rows, Statement } from '../../connection/pipeline.ts';

type CatalogType = Omit<ColumnType, 'oid' | 'modifier'>;

/** What is known of types by oid; filled as columns of new types are met. */
export type TypeCatalog = Map<number, CatalogType>;

export function unknownTypes(catalog: TypeCatalog, fields: readonly pg.FieldDef[]): readonly number[] {
  return [...new Set(fields.map((field) => field.dataTypeID))].filter((oid) => !catalog.has(oid));
}

/** Asks for the types; the element of an array counts as what it is based on when it is a domain. */
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
