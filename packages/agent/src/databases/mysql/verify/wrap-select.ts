import type { CapabilityLimits } from '../../../capabilities/model.ts';
import type { OneSelect } from '../../sql/one-select.ts';
import { words } from '../../sql/words.ts';
import { FLOAT_BYTES } from '../execute/write-floats.ts';
import { vocabulary } from '../dialect/vocabulary.ts';

/** A SELECT with only these words is merged into the SELECT around it. */
const MERGED_WORDS = words(
  'SELECT AS FROM JOIN INNER LEFT RIGHT OUTER CROSS ON USING WHERE AND OR XOR NOT IN IS NULL LIKE BETWEEN TRUE FALSE',
);

export interface OutputField {
  readonly name: string;
  readonly json: string;
  readonly absent: string;
  readonly isFloat: boolean;
  readonly nullable: boolean;
}

/** The name of a column of the capability's SELECT in the SELECT around it. */
export function columnName(name: string): string {
  return `q.\`${name.replaceAll('`', '``')}\``;
}

/**
 * The SELECT around that of the capability. It yields for each row its JSON text, cut where it is longer than any that
 * may leave, and where a field must not be null the number of the first such field that is. One row more than may leave
 * tells whether there are more.
 *
 * The LIMIT stands inside, behind a SELECT that has none: MariaDB drops the order of a derived table without one, and
 * both servers keep that of a derived table with one. A plain SELECT has it outside, and then costs no derived table. `keys`
 * are the texts of what a page is ordered by.
 */
export function wrapSelect(
  sql: string,
  fields: readonly OutputField[],
  limits: CapabilityLimits,
  hasOuterLimit: boolean,
  keys: readonly string[] = [],
): string {
  const members = fields.map(
    ({ name, json, absent }, index) =>
      `${quoted(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`)}, if(${absent}, 'null', ${json})`,
  );
  const most = limits.maxRows + 1;
  const [inner, outer] = hasOuterLimit ? ['', `\nlimit ${most}`] : [`\nlimit ${most}`, ''];
  const mostBytes = limits.maxBytes + fields.filter(({ isFloat }) => isFloat).length * FLOAT_BYTES;
  const row = `left(cast(concat(${members.join(', ')}, '}') as binary), ${mostBytes})`;
  const required = fields.filter(({ nullable }) => !nullable);
  const missing = required.map(({ absent }, index) => ` when ${absent} then ${index}`).join('');
  const absent = missing === '' ? 'null' : `case${missing} end`;
  const columns = missing === '' && keys.length === 0 ? [row] : [row, absent, ...keys];
  return `select ${columns.join(', ')} from (${sql}${inner}) q${outer}`;
}

/** Whether the LIMIT around a SELECT stands outside of it: see `wrapSelect`. */
export function takesOuterLimit(select: OneSelect): boolean {
  return select.isLimited || isMerged(select);
}

/** False if a function is called: merged, its value would be computed in several places. */
function isMerged({ body, functions }: OneSelect): boolean {
  const words = body.flatMap(({ kind, text }) => (kind === 'word' ? [text.toUpperCase()] : []));
  const keywords = words.filter((word) => vocabulary.allowed.has(word));
  const isOne = keywords.filter((word) => word === 'SELECT').length === 1;
  return isOne && functions.length === 0 && keywords.every((word) => MERGED_WORDS.has(word));
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
