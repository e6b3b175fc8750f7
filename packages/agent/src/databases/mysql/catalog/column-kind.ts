import type { ColumnKind } from '../../driver/catalog.ts';

const KINDS: Readonly<Record<string, ColumnKind>> = {
  tinyint: 'integer',
  smallint: 'integer',
  mediumint: 'integer',
  int: 'integer',
  bigint: 'integer',
  year: 'integer',
  bit: 'integer',
  float: 'number',
  double: 'number',
  decimal: 'number',
  char: 'text',
  varchar: 'text',
  tinytext: 'text',
  text: 'text',
  mediumtext: 'text',
  longtext: 'text',
  enum: 'text',
  date: 'date',
  datetime: 'datetime',
  timestamp: 'datetime',
  json: 'json',
  uuid: 'uuid',
  inet4: 'address',
  inet6: 'address',
};

const OPAQUE =
  /^(?:binary|varbinary|tinyblob|blob|mediumblob|longblob|geometry|geomcollection|vector|.*point|.*linestring|.*polygon|geometrycollection)$/;

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
