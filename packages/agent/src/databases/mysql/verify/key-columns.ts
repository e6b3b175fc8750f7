import type { KeptColumn, UnkeptColumn } from '../../clauses/tokens/page-orders.ts';
import type { CursorKind } from '../execute/cursor-values.ts';
import type { Column } from './columns.ts';
import { doubleText, kindOfColumn, TYPE } from './convert-column.ts';
import { columnName } from './wrap-select.ts';

/** A column by which pages are ordered. */
export interface KeyColumn extends KeptColumn {
  /** Its text, as SQL of the SELECT around the statement. */
  readonly text: string;
}

/** The character set and collation of a text. */
export interface TextSet {
  readonly set: string;
  readonly collation: string;
}

const UNKEPT: UnkeptColumn = { castTo: 'char' };

/**
 * How a cursor keeps a column. An ENUM or SET is ordered by numbers and compared as a text, and a FLOAT is equal to no number
 * that is written.
 */
export function keyColumn(
  column: Column | undefined,
  textSet: TextSet | undefined,
  isMariaDb: boolean,
): KeyColumn | UnkeptColumn {
  if (column === undefined) return UNKEPT;
  const name = columnName(column.name);
  const cast = (type: string, of: CursorKind, text = `concat(${name})`): KeyColumn => ({
    type: `${of} ${type}`,
    text,
    value: (param) => ['cast(', param, `? as ${type})`],
  });
  switch (kindOfColumn(column)) {
    case 'number':
      if (column.type === TYPE.float) return { castTo: 'double' };
      if (column.type === TYPE.double) {
        const value = (param: number): readonly (number | string)[] => ['(', param, '? + 0e0)'];
        return { type: 'double', text: doubleText(name, isMariaDb), value };
      }
      if (column.type === TYPE.decimal || column.type === TYPE.newDecimal)
        return cast(`decimal(65, ${column.decimals})`, 'decimal');
      if (column.isUnsigned || column.type === TYPE.bit || column.type === TYPE.year)
        // MySQL casts texts of large numbers to UNSIGNED as if it were SIGNED.
        return cast('decimal(65, 0)', 'unsigned', `concat(${name} + 0)`);
      return cast('signed', 'signed', `concat(${name} + 0)`);
    case 'date':
      return cast('date', 'date');
    case 'moment':
      return cast('datetime(6)', 'datetime');
    case 'time':
      // MySQL compares a time of a hundred hours or more that is cast as if it were another.
      return { type: 'time', text: `concat(${name})`, value: (param) => [param, '?'] };
    case 'bytes':
      return { type: 'bytes', text: `hex(${name})`, value: (param) => ['unhex(', param, '?)'] };
    case 'text': {
      if (textSet === undefined) return UNKEPT;
      const { set, collation } = textSet;
      return {
        type: `text ${set} ${collation}`,
        text: `convert(${name} using utf8mb4)`,
        // With the collation of the column, so that an index finds it and no row is compared otherwise than it is sorted.
        value: (param) => ['convert(', param, `? using ${set}) collate ${collation}`],
      };
    }
    default:
      return UNKEPT;
  }
}
