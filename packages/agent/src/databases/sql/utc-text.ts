import type { Param } from '../../capabilities/model.ts';
import { DatabaseError } from '../driver/errors.ts';

const LEAP_SECOND = '60';

/**
 * A validated `date-time` as engines without offsets take it, in UTC: `YYYY-MM-DD HH:MM:SS` with at most `digits` behind
 * the point. A leap second is the second behind it, as it is for PostgreSQL. Throws `DatabaseError` for a time that UTC
 * puts outside of the years 1 to 9999.
 */
export function utcText({ name, from }: Pick<Param, 'name' | 'from'>, value: string, digits: number): string {
  // A Date has only milliseconds, so the fraction is kept as text.
  const [, fraction = '', offset = ''] = /^[^.Zz+]*?(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.exec(value) ?? [];
  const isLeap = value.slice(17, 19) === LEAP_SECOND;
  const whole = `${value.slice(0, 17)}${isLeap ? '59' : value.slice(17, 19)}${offset}`.toUpperCase();
  const text = new Date(Date.parse(whole) + (isLeap ? 1000 : 0)).toISOString();
  if (!/^\d{4}-/.test(text) || text.startsWith('0000')) {
    const mistake = 'in UTC it is outside of the years 1 to 9999';
    throw new DatabaseError(from === undefined ? 'invalid_params' : 'invalid_principal', mistake, {
      advice: `${name}: ${mistake}`,
    });
  }
  return `${text.slice(0, 10)} ${text.slice(11, 19)}${fraction.slice(0, digits + 1)}`;
}
