import { PLACE_OF_FILTERS } from '../capabilities/clauses.ts';
import type {
  DescribedField,
  DescribedParam,
  DescribedStatement,
  StatementDescription,
} from '../databases/driver/describe-statement.ts';

export interface FilteringParam extends DescribedParam {
  readonly filter?: string;
}

type FilteredDescription =
  | {
      readonly ok: true;
      readonly statement: Omit<DescribedStatement, 'params'> & { readonly params: readonly FilteringParam[] };
    }
  | Exclude<StatementDescription, { readonly ok: true }>;

/** Each filter that may fall away doubles the number of statements. */
const FILTERS_MAX = 12;
/** Values of other types are seldom equal. */
const COMPARED: ReadonlySet<DescribedField['type']> = new Set([
  'integer',
  'boolean',
  'date',
  'datetime',
  'string',
]);
/** What needs no quotes in SQL and leaves room in the name of a parameter. `svc_` is reserved for what says who calls. */
const PLAIN_NAME = /^(?!svc_)[a-z_][a-z0-9_]{0,55}$/;

/**
 * Describes a statement that has a place for filters, which are not written yet: one for each field that is a column there,
 * or two for a moment. No other: a filter on `email` beside `left(email, 3) as email` would tell what the field hides.
 * `describe` asks the database, which knows the columns.
 */
export async function describeFilters(
  sql: string,
  describe: (sql: string) => Promise<StatementDescription>,
): Promise<FilteredDescription> {
  const withCondition = (condition: string): string =>
    sql.replaceAll(PLACE_OF_FILTERS, () => `(${condition})`);
  const described = await describe(withCondition('true'));
  if (!described.ok) return described;
  const { params, fields } = described.statement;
  const taken = new Set(params.map(({ name }) => name));
  const filters: FilteringParam[] = [];
  for (const field of fields) {
    for (const { name, filter } of filtersOf(field)) {
      if (taken.has(name) || filters.length === FILTERS_MAX) continue;
      const alone = await describe(withCondition(filter));
      const param = alone.ok ? alone.statement.params.find((each) => each.name === name) : undefined;
      if (param === undefined) continue;
      taken.add(name);
      // Some databases know no types of parameters.
      const isUntyped = param.schema.type === 'string' && field.type !== 'string';
      const schema = isUntyped ? { type: field.type } : param.schema;
      filters.push({ ...param, schema, required: false, filter });
    }
  }
  return { ok: true, statement: { params: [...params, ...filters], fields } };
}

function filtersOf({
  name,
  type,
  column = '',
}: DescribedField): readonly { readonly name: string; readonly filter: string }[] {
  if (!COMPARED.has(type) || ![name, column].every((each) => PLAIN_NAME.test(each))) return [];
  if (type !== 'date' && type !== 'datetime') return [{ name, filter: `${column} = :${name}` }];
  return [
    { name: `${name}_from`, filter: `${column} >= :${name}_from` },
    { name: `${name}_before`, filter: `${column} < :${name}_before` },
  ];
}
