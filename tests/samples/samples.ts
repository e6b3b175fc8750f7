import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const NAMES = ['pagila', 'chinook', 'northwind', 'ugly'] as const;
type SampleName = (typeof NAMES)[number];

/** Databases that nobody wrote for this service: the SQL that makes each, in the order of the names. */
export const SAMPLES: readonly { readonly name: SampleName; readonly sql: string }[] = NAMES.map((name) => ({
  name,
  sql: readFileSync(join(import.meta.dirname, `${name}.sql`), 'utf8'),
}));

/** Many plain tables that refer to each other. */
export function manyTables(count: number): string {
  return Array.from(
    { length: count },
    (_, index) =>
      `create table t_${index} (id integer primary key, name text not null, ` +
      Array.from({ length: 15 }, (__, column) => `c_${column} text`).join(', ') +
      (index === 0 ? ')' : `, parent_id integer references t_${index >> 1})`),
  ).join(';\n');
}
