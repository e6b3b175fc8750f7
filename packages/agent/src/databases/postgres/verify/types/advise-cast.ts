import type { Capability, Param, ParamSchema } from '../../../../capabilities/model.ts';
import { sqlTypeOf } from '../../execute/bind-values.ts';
import type { ServerType } from '../../execute/prepared-query.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import type { Template } from '../../../sql/template.ts';
import { prepareOnly, step } from '../plan-statement.ts';
import { fits, isDeclaredType } from './parameter-fit.ts';
import { type Placeholder, readFilled } from '../statement/read-statement.ts';

export interface Subject {
  readonly pool: SessionPool;
  readonly capability: Capability;
  readonly template: Template;
}

interface Cast {
  readonly sql: string;
  readonly shown: string;
}

/** A range may be meant to be compared with its elements as well as with other ranges. */
const ELEMENTS: Readonly<Record<string, string>> = {
  int4: 'integer',
  int8: 'bigint',
  num: 'numeric',
  ts: 'timestamp',
  tstz: 'timestamptz',
  date: 'date',
};
const TRIES_MAX = 16;

/** Whether the server accepts the statement so. It checks types before it plans. */
export async function isAccepted(
  { pool, capability, template }: Subject,
  placeholders: readonly Placeholder[],
): Promise<boolean> {
  const result = readFilled(capability, template, placeholders);
  return result.ok && (await step(pool, capability, prepareOnly(result.read.rewritten.text))).ok;
}

/**
 * `isMisfit` is asked by the place of a reference. Returns the casts of the parameters with which the server accepts the statement;
 * undefined if it accepts none that is known.
 */
export async function adviseCasts(
  subject: Subject,
  placeholders: readonly Placeholder[],
  misfits: ReadonlyMap<Param, ServerType>,
  isMisfit: (at: number) => boolean,
): Promise<ReadonlyMap<Param, string> | undefined> {
  let choices: readonly ReadonlyMap<Param, Cast>[] = [new Map()];
  for (const [param, type] of misfits) {
    choices = choices.flatMap((choice) => castsTo(type).map((cast) => new Map(choice).set(param, cast)));
  }
  for (const choice of choices.slice(0, TRIES_MAX)) {
    const filled = placeholders.map((placeholder, at) => {
      const param = subject.template.params[placeholder.number - 1];
      const cast = param === undefined || !isMisfit(at) ? undefined : choice.get(param);
      return param === undefined || cast === undefined
        ? placeholder
        : { ...placeholder, casts: [sqlTypeOf(param.schema), cast.sql] };
    });
    if (!(await isAccepted(subject, filled))) continue;
    return new Map([...choice].map(([param, { shown }]) => [param, shown]));
  }
  return undefined;
}

/** The element of a range comes first: a value that is no range is more likely meant as one. */
function castsTo({ title, isArray, sql }: ServerType): readonly Cast[] {
  const own: Cast = { sql, shown: title === undefined ? 'the_type' : `${title}${isArray ? '[]' : ''}` };
  const [, range = ''] = /^(\w+?)(?:multi)?range$/.exec(title ?? '') ?? [];
  const element = isArray ? undefined : ELEMENTS[range];
  return element === undefined
    ? [own]
    : [{ sql: `pg_catalog.${NAMES[element] ?? element}`, shown: element }, own];
}

const NAMES: Readonly<Record<string, string>> = { integer: 'int4', bigint: 'int8' };

/** The type to declare, and the cast if the server accepted it. A cast does not help between one value and a list. */
export function misfitAdvice(
  name: string,
  schema: ParamSchema,
  type: ServerType,
  cast: string | undefined,
): string {
  const { title, isArray } = type;
  if (schema.type === 'array' && !isArray) {
    const { items } = schema;
    const scalar = items !== undefined && fits(items, type) ? `, or declare it ${items.type}` : '';
    return `is an array, but the SQL takes one ${title ?? 'value'} here: write x in (:${name}) or x = any(:${name})${scalar}`;
  }
  const taken = title === undefined ? 'a type of the database' : `${title}${isArray ? '[]' : ''}`;
  const declared = declaredAs(type);
  const advice = [
    ...(declared === undefined ? [] : [`declare it ${declared}`]),
    ...(cast === undefined ? [] : [`cast it in the SQL, as in :${name}::${cast}`]),
  ];
  const problem = `is declared ${schema.type}, but the SQL takes it as ${taken}`;
  return advice.length === 0 ? problem : `${problem}: ${advice.join(', or ')}`;
}

/** Not for a range, whose text is another value than that of its elements. */
function declaredAs(type: ServerType): ParamSchema['type'] | undefined {
  if (type.isArray) return 'array';
  if (type.form === 'r' || type.form === 'm') return undefined;
  const exact = DECLARABLE.find((each) => isDeclaredType({ type: each }, type));
  return exact ?? DECLARABLE.find((each) => fits({ type: each }, type));
}

const DECLARABLE = ['integer', 'number', 'boolean', 'date', 'datetime', 'object', 'uuid', 'string'] as const;
