import { isLoss } from '../connection/server-errors.ts';
import type { MysqlSession } from '../connection/session.ts';
import { partsOf, type Column } from './columns.ts';
import type { ReadStatement } from './read-statement.ts';

/**
 * The columns of a statement, as texts where the server takes them for bytes only because it does not know the types of
 * parameters: MariaDB takes a parameter for bytes until it has a value, and so what functions make of it.
 */
export async function withTexts(
  session: MysqlSession,
  { params, textWith }: ReadStatement,
  columns: readonly Column[],
): Promise<readonly Column[]> {
  if (params.length === 0 || !columns.some(({ isBinary }) => isBinary)) return columns;
  const text = textWith(({ schema, isList }) => {
    const type = isList ? schema.items?.type : schema.type;
    const isNumber = type === 'integer' || type === 'number' || type === 'boolean';
    return isNumber ? '0' : 'convert(? using utf8mb4)';
  });
  try {
    const typed = partsOf(await session.prepare(text)).columns;
    session.connection.unprepare(text);
    return columns.map((column, index) => ({
      ...column,
      isBinary: column.isBinary && typed[index]?.isBinary !== false,
    }));
  } catch (error) {
    if (isLoss(error)) throw error;
    // Where only a bare parameter may stand, nothing more is known.
    return columns;
  }
}
