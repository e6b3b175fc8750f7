import type { DescribedStatement } from '../databases/driver/describe-statement.ts';
import type { CapabilitySection } from '../config/yaml/insert-capability.ts';

/** What a capability file says of a capability with this statement, as its database describes it. */
export function sectionOf(
  sql: string,
  { params, fields }: DescribedStatement,
  database?: string,
): CapabilitySection {
  const declared = params.map(({ name, schema, required }) => [
    name,
    required ? { ...schema, required } : schema,
  ]);
  const result = fields.map(({ name, type, format, nullable }) => [
    name,
    { type, ...(format === undefined ? {} : { format }), ...(nullable ? {} : { nullable }) },
  ]);
  return {
    ...(database === undefined ? {} : { database }),
    // Else it would be the name of an environment variable. In a text that takes another's place `$$` would be one `$`.
    sql: sql.replaceAll('${', () => '$${'),
    ...(declared.length === 0 ? {} : { params: Object.fromEntries(declared) as unknown }),
    result: Object.fromEntries(result) as unknown,
  };
}
