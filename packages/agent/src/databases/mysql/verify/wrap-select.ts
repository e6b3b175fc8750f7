import type { CapabilityLimits } from '../../../capabilities/model.ts';

/** A field of the result: see `Conversion` for what stands for its value in SQL. */
export interface OutputField {
  readonly name: string;
  readonly json: string;
  readonly absent: string;
  readonly nullable: boolean;
}

/** How the columns of the capability's own SELECT are named around it. */
export function columnName(name: string): string {
  return `q.\`${name.replaceAll('`', '``')}\``;
}

/**
 * The SELECT around that of the capability. It yields for each row its JSON text, cut where it is longer than any that
 * may leave, and where a field must not be null the number of the first such field that is. One row more than may leave
 * tells whether there are more.
 *
 * The LIMIT stands inside, behind a SELECT that has none: MariaDB drops the order of a derived table without one, and
 * both servers keep that of a derived table with one.
 */
export function wrapSelect(
  sql: string,
  fields: readonly OutputField[],
  limits: CapabilityLimits,
  isLimited: boolean,
): string {
  const members = fields.map(
    ({ name, json, absent }, index) =>
      `${quoted(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`)}, if(${absent}, 'null', ${json})`,
  );
  const most = limits.maxRows + 1;
  const [inner, outer] = isLimited ? ['', `\nlimit ${most}`] : [`\nlimit ${most}`, ''];
  const row = `left(cast(concat(${members.join(', ')}, '}') as binary), ${limits.maxBytes})`;
  const required = fields.filter(({ nullable }) => !nullable);
  const missing = required.map(({ absent }, index) => ` when ${absent} then ${index}`).join('');
  const columns = missing === '' ? row : `${row}, case${missing} end`;
  return `select ${columns} from (${sql}${inner}) q${outer}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
