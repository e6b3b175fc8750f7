import type { ColumnKind } from '../../driver/catalog.ts';
import { each } from '../../sql/words.ts';

const KINDS: Readonly<Record<string, ColumnKind>> = {
  ...each('tinyint smallint mediumint int bigint year bit', 'integer'),
  ...each('float double decimal', 'number'),
  ...each('char varchar tinytext text mediumtext longtext enum', 'text'),
  date: 'date',
  ...each('datetime timestamp', 'datetime'),
  json: 'json',
  uuid: 'uuid',
  ...each('inet4 inet6', 'address'),
};

const OPAQUE =
  /^(?:binary|varbinary|tinyblob|blob|mediumblob|longblob|geometry|geomcollection|vector|.*point|.*linestring|.*polygon|geometrycollection)$/;

/** ENUM is sorted by number but compared as text; the text of a FLOAT is not its value. */
export const WITHOUT_CURSOR: ReadonlySet<string> = new Set(['enum', 'set', 'float']);

/** `dataType` and `columnType` of information_schema.columns, such as `tinyint` and `tinyint(1)`. */
export function kindOfColumn(dataType: string, columnType: string, scale: number | undefined): ColumnKind {
  if (columnType === 'tinyint(1)' || columnType === 'bit(1)') return 'boolean';
  if (dataType === 'decimal' && scale === 0) return 'integer';
  if (OPAQUE.test(dataType)) return 'opaque';
  return KINDS[dataType] ?? 'other';
}

/** Those of `enum('a','it''s')`. */
export function labelsOf(columnType: string): readonly string[] | undefined {
  const [, list] = /^enum\((.*)\)$/s.exec(columnType) ?? [];
  return list?.match(/'(?:[^']|'')*'/g)?.map((label) => label.slice(1, -1).replaceAll("''", "'"));
}
