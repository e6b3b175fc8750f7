import type { FieldPacket, PrepareStatementInfo } from 'mysql2';

export interface Column {
  readonly name: string;
  /** Its number in the protocol. */
  readonly type: number;
  readonly length: number;
  readonly decimals: number;
  readonly isBinary: boolean;
  readonly isUnsigned: boolean;
  /** Whether it is an ENUM or a SET, which are also numbers. */
  readonly isChoice: boolean;
  /** Whether it is a column of a table. */
  readonly isStored: boolean;
}

/** The character set of bytes. */
const BINARY_SET = 63;
const UNSIGNED_FLAG = 32;
const CHOICE_FLAGS = 256 | 2048;

/** Reads what the library's types leave out. */
export function partsOf(statement: PrepareStatementInfo): {
  readonly parameters: number;
  readonly columns: readonly Column[];
} {
  const parameters: unknown = Reflect.get(statement, 'parameters');
  const columns: unknown = Reflect.get(statement, 'columns');
  return {
    parameters: Array.isArray(parameters) ? parameters.length : 0,
    columns: (Array.isArray(columns) ? columns : []).map(columnOf),
  };
}

function columnOf(field: FieldPacket): Column {
  const flags = Number(field.flags);
  return {
    name: field.name,
    type: field.columnType ?? 0,
    length: field.columnLength ?? 0,
    decimals: field.decimals ?? 0,
    isBinary: field.characterSet === BINARY_SET,
    isUnsigned: (flags & UNSIGNED_FLAG) !== 0,
    isChoice: (flags & CHOICE_FLAGS) !== 0,
    isStored: field.orgTable !== '',
  };
}
