import type { Capability, Param, ParamSchema } from '../../../../capabilities/model.ts';
import { sqlTypeOf } from '../../execute/bind-values.ts';
import type { ServerType } from '../../execute/prepared-query.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import type { Template } from '../../../sql/template.ts';
import { prepareOnly, step } from '../plan-statement.ts';
import { readFilled } from '../statement/read-statement.ts';
import type { Placeholder } from '../statement/placeholder.ts';
import { fits, isDeclaredType } from './parameter-fit.ts';

/** A cast as SQL has it, and as messages have it. */
interface Cast {
  readonly sql: string;
  readonly shown: string;
}

/** What ranges are made of; a range is asked about its elements as well as about other ranges. */
const ELEMENTS: Readonly<Record<string, string>> = {
  int4: 'integer',
  int8: 'bigint',
  num: 'numeric',
  ts: 'timestamp',
  tstz: 'timestamptz',
  date: 'date',
};
/** Each try asks the server once. */
const TRIES_MAX = 16;

/** The casts of the parameters with which the server accepts the statement; undefined where it accepts none that is known. */
export async function adviseCasts(
  pool: SessionPool,
  capability: Capability,
  template: Template,
  {
    placeholders,
    misfits,
    isMisfit,
  }: {
    readonly placeholders: readonly Placeholder[];
    readonly misfits: ReadonlyMap<Param, ServerType>;
    /** By the place of a reference. */
    readonly isMisfit: (at: number) => boolean;
  },
): Promise<ReadonlyMap<Param, string> | undefined> {
  let choices: readonly ReadonlyMap<Param, Cast>[] = [new Map()];
  for (const [param, type] of misfits) {
    choices = choices.flatMap((choice) => castsTo(type).map((cast) => new Map(choice).set(param, cast)));
  }
  for (const choice of choices.slice(0, TRIES_MAX)) {
    const filled = placeholders.map((placeholder, at) => {
      const param = template.params[placeholder.number - 1];
      const cast = param === undefined || !isMisfit(at) ? undefined : choice.get(param);
      return param === undefined || cast === undefined
        ? placeholder
        : { ...placeholder, casts: [sqlTypeOf(param.schema), cast.sql] };
    });
    const result = readFilled(capability, template, filled);
    if (!result.ok) continue;
    const taken = await step(pool, capability, prepareOnly(result.read.rewritten.text));
    if (taken.ok) return new Map([...choice].map(([param, { shown }]) => [param, shown]));
  }
  return undefined;
}

/** The element of a range first: a value that is no range is more likely meant as one. */
function castsTo({ title, isArray, sql }: ServerType): readonly Cast[] {
  const own: Cast = { sql, shown: title === undefined ? 'the_type' : `${title}${isArray ? '[]' : ''}` };
  const [, range = ''] = /^(\w+?)(?:multi)?range$/.exec(title ?? '') ?? [];
  const element = isArray ? undefined : ELEMENTS[range];
  return element === undefined
    ? [own]
    : [{ sql: `pg_catalog.${NAMES[element] ?? element}`, shown: element }, own];
}

/** What the catalog calls types that SQL has other words for. */
const NAMES: Readonly<Record<string, string>> = { integer: 'int4', bigint: 'int8' };

/** What is wrong and what to do: the type to declare, and the cast if the server accepted it. */
export function misfitAdvice(
  name: string,
  schema: ParamSchema,
  type: ServerType,
  cast: string | undefined,
): string {
  const { title, isArray } = type;
  const taken = title === undefined ? 'a type of the database' : `${title}${isArray ? '[]' : ''}`;
  const declared = declaredAs(type);
  const advice = [
    ...(declared === undefined ? [] : [`declare it ${declared}`]),
    ...(cast === undefined ? [] : [`cast it in the SQL, as in :${name}::${cast}`]),
  ];
  const problem = `is declared ${schema.type}, but the SQL takes it as ${taken}`;
  return advice.length === 0 ? problem : `${problem}: ${advice.join(', or ')}`;
}

/** The declared type that means the same; none for a range, whose text is another value than that of its elements. */
function declaredAs(type: ServerType): ParamSchema['type'] | undefined {
  if (type.isArray) return 'array';
  if (type.form === 'r' || type.form === 'm') return undefined;
  const exact = DECLARABLE.find((each) => isDeclaredType({ type: each }, type));
  return exact ?? DECLARABLE.find((each) => fits({ type: each }, type));
}

const DECLARABLE = ['integer', 'number', 'boolean', 'date', 'datetime', 'object', 'uuid', 'string'] as const;
