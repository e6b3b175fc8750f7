import type pg from 'pg';
import type { Capability, Param, ParamSchema } from '../../../../capabilities/model.ts';
import { sqlStateOf, textOf } from '../../connection/server-errors.ts';
import { parametersAt } from '../statement/inspect.ts';
import { adviseCasts, isAccepted, misfitAdvice, type Subject } from './advise-cast.ts';
import { castsOf, comparesItsOwnWay, fits, isDeclaredType, narrowed, secondChoice } from './parameter-fit.ts';
import {
  explain,
  offsetOf,
  publicMessage,
  refused,
  step,
  withHint,
  type Refusal,
  type RefusedStep,
} from '../plan-statement.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { faultAt } from '../../../sql/fault-at.ts';
import type { Template } from '../../../sql/template.ts';
import { askParameterTypes } from './server-types.ts';
import type { BoundParam, ServerType, WrittenCast } from '../../execute/prepared-query.ts';
import type { SessionFacts } from '../../connection/database-session.ts';
import { sqlTypeOf } from '../../execute/bind-values.ts';
import { type Placeholder, readFilled, type ReadStatement } from '../statement/read-statement.ts';

interface Planned {
  readonly plan: unknown;
  readonly columns: readonly pg.FieldDef[];
  readonly facts: SessionFacts;
}

export type TypedStatement =
  | {
      readonly ok: true;
      readonly read: ReadStatement;
      readonly plan: Planned;
      /** In the order of `$1`, `$2`, ... */
      readonly params: readonly BoundParam[];
    }
  | Refusal;

type Accepted = TypedStatement & { readonly ok: true };
/** What each reference takes besides its declared type; see `castsOf`. */
type Choice = readonly (ServerType | 'any' | undefined)[];

/** undefined_function, datatype_mismatch, ambiguous_function, cannot_coerce, indeterminate_datatype, ambiguous_parameter */
const TYPE_ERRORS = new Set(['42883', '42804', '42725', '42846', '42P18', '42P08']);
const INDETERMINATE = '42P18';

/**
 * Plans a capability's SQL, and decides what each parameter is bound as: its declared type if the server takes the
 * statement so, or else what the server itself takes there, if it means the same.
 */
export async function chooseTypes(
  pool: SessionPool,
  capability: Capability,
  first: ReadStatement,
): Promise<TypedStatement> {
  const chosen = await chooseFor({ pool, capability, template: first.template }, first);
  const { written } = first;
  if (chosen.ok || written === undefined) return chosen;
  const asWritten = await chooseFor({ pool, capability, template: written.template }, written);
  return asWritten.ok ? asWritten : chosen;
}

async function chooseFor(subject: Subject, read: ReadStatement): Promise<TypedStatement> {
  const { template } = read;
  const declared: Choice = template.references.map(() => undefined);
  const asDeclared = await plan(subject, read, declared);
  if (asDeclared.ok) return (await ownComparisons(subject, asDeclared)) ?? asDeclared;
  if (!TYPE_ERRORS.has(sqlStateOf(asDeclared.error) ?? '') || declared.length === 0) return asDeclared;

  const found = await askTypes(subject, read);
  const choice = template.references.map((index, at) => chooseAt(template.params[index], found?.[at]));
  if (!(await isAccepted(subject, placeholdersFor(template, choice)))) {
    return explained(subject, read, asDeclared, found ?? [], choice);
  }
  return planChoice(subject, await restoreDeclared(subject, choice));
}

function chooseAt(param: Param | undefined, found: ServerType | 'any' | undefined): Choice[number] {
  if (param === undefined) return undefined;
  if (found === 'any') return 'any';
  if (found === undefined || !fits(param.schema, found)) return secondChoice(param.schema);
  return isDeclaredType(param.schema, found) ? undefined : found;
}

/**
 * Returns parameters to their declared types, one after the other, if the server accepts the statement so. Not strings:
 * the server may accept text, and then compare in another way than the column does.
 */
async function restoreDeclared(subject: Subject, choice: Choice): Promise<Choice> {
  const { template } = subject;
  let kept = choice;
  for (const [index, { schema }] of template.params.entries()) {
    if (isString(schema)) continue;
    const isCast = (at: number): boolean => template.references[at] === index && typeof kept[at] === 'object';
    // The statement was refused with all declared types, so at least one change must stay.
    if (!kept.some((place, at) => typeof place === 'object' && !isCast(at))) break;
    if (!kept.some((_, at) => isCast(at))) continue;
    const fewer = kept.map((place, at) => (isCast(at) ? undefined : place));
    if (await isAccepted(subject, placeholdersFor(template, fewer))) kept = fewer;
  }
  return kept;
}

/** Binds strings as the types that compare in another way than text does; undefined if there is none. */
async function ownComparisons(subject: Subject, asDeclared: Accepted): Promise<Accepted | undefined> {
  const { template } = subject;
  const strings = template.params.map(({ schema }) => isString(schema));
  // Compared with text, such a column is cast to text, and the plan says so.
  const casts = JSON.stringify(asDeclared.plan.plan).includes(')::text');
  if (!casts || !strings.includes(true)) return undefined;
  const found = await askTypes(subject, asDeclared.read);
  const choice = template.references.map((index, at) => {
    const type = strings[index] === true ? found?.[at] : undefined;
    return type === 'any' || (type !== undefined && comparesItsOwnWay(type)) ? type : undefined;
  });
  if (!choice.some((place) => typeof place === 'object')) return undefined;
  const own = await planChoice(subject, choice);
  return own.ok ? own : undefined;
}

function isString(schema: ParamSchema): boolean {
  return (schema.items ?? schema).type === 'string';
}

async function planChoice(subject: Subject, choice: Choice): Promise<TypedStatement> {
  const { capability, template } = subject;
  const result = readFilled(capability, template, placeholdersFor(template, choice));
  return result.ok ? plan(subject, result.read, choice) : result;
}

function placeholdersFor(template: Template, choice: Choice): readonly Placeholder[] {
  const casts = template.params.map((param, index) =>
    castsOf(
      param.schema,
      choice.filter((_, at) => template.references[at] === index),
    ).values(),
  );
  return template.references.map((index) => ({
    number: index + 1,
    casts: casts[index]?.next().value ?? [],
  }));
}

async function plan(
  { pool, capability }: Subject,
  read: ReadStatement,
  choice: Choice,
): Promise<Accepted | RefusedStep> {
  const planned = await planStatement(pool, capability, read);
  return planned.ok ? { ...planned, read, params: boundParams(read, choice) } : planned;
}

/** Plans a statement as it is, and asks for its columns. */
export async function planStatement(
  pool: SessionPool,
  capability: Capability,
  { rewritten: { text }, template: { params } }: ReadStatement,
): Promise<{ readonly ok: true; readonly plan: Planned } | RefusedStep> {
  const planned = await step(pool, capability, [
    ...explain(text, params.length),
    // A limit of 0 runs nothing, but the server says of what types the columns are.
    { text: `select * from (\n${text}\n) q limit 0`, values: params.map(() => null) },
  ]);
  if (!planned.ok) return withHint(planned, text);
  const { results, facts } = planned.output;
  const [, , explained, , described] = results;
  return {
    ok: true,
    plan: { plan: JSON.parse(explained?.rows[0]?.[0] ?? 'null'), columns: described?.fields ?? [], facts },
  };
}

function boundParams(
  { template, rewritten, inspected }: ReadStatement,
  choice: Choice,
): readonly BoundParam[] {
  const placeholders = placeholdersFor(template, choice);
  return template.params.map((param, index) => {
    const isOwn = (_: unknown, at: number): boolean => template.references[at] === index;
    const types = choice.filter(isOwn).filter((place) => typeof place === 'object');
    const casts = placeholders.filter(isOwn).map((placeholder) => placeholder.casts.join('::'));
    const written = new Map<string, WrittenCast>();
    for (const [at, { casts: own, number }] of placeholders.entries()) {
      const outer = inspected.casts.get(rewritten.places[at]?.offset ?? -1)?.[own.length];
      if (number !== index + 1 || outer === undefined) continue;
      const cast = [...own, outer.sql].join('::');
      written.set(cast, { cast, name: outer.name });
    }
    const [type] = types;
    return {
      param: { ...param, schema: types.reduce(narrowed, param.schema) },
      casts: [...new Set(casts)],
      written: [...written.values()],
      ...(type === undefined ? {} : { type }),
    };
  });
}

/**
 * Asks the server which type it takes at each place. Each place gets a number of its own, since one parameter may stand
 * for several types. Undefined if the server cannot say.
 */
async function askTypes(
  subject: Subject,
  { template, rewritten, inspected }: ReadStatement,
): Promise<readonly (ServerType | 'any')[] | undefined> {
  const schemas = template.references.flatMap((index) => template.params[index]?.schema ?? []);
  const bare = schemas.map((): readonly string[] => []);
  // Without any type an operator may fit in too many ways, as in `day + :n`.
  const helped = schemas.map((schema) => {
    const type = secondChoice(schema);
    return type === undefined ? [] : [type.sql];
  });
  const declared = schemas.map(sqlTypeOf);
  const anything = rewritten.places.flatMap(({ offset }, at) =>
    inspected.nullTested.includes(offset) ? [at] : [],
  );
  for (const casts of [bare, helped]) {
    const types = await askTypesGiven(subject, declared, casts, new Set(anything));
    if (types !== undefined) return types;
  }
  return undefined;
}

async function askTypesGiven(
  { pool, capability, template }: Subject,
  declared: readonly string[],
  casts: readonly (readonly string[])[],
  anything: Set<number>,
): Promise<readonly (ServerType | 'any')[] | undefined> {
  for (;;) {
    const placeholders = casts.map((types, at) => {
      const type = anything.has(at) ? declared[at] : undefined;
      return { number: at + 1, casts: type === undefined ? types : [type] };
    });
    const result = readFilled(capability, template, placeholders);
    if (!result.ok) return undefined;
    const asked = await askParameterTypes(pool, capability, result.read.rewritten.text);
    if (asked.ok) {
      if (asked.types.length !== casts.length) return undefined;
      return asked.types.map((type, at) => (anything.has(at) ? 'any' : type));
    }
    // A place takes every type, as in `:x is null`: the server names the first one by its number.
    const at = sqlStateOf(asked.error) === INDETERMINATE ? numberIn(asked.error) - 1 : -1;
    if (declared[at] === undefined || anything.has(at)) return undefined;
    anything.add(at);
  }
}

/** The same in every language of the server. */
function numberIn(error: unknown): number {
  return Number(/\$(\d+)/.exec(textOf(error))?.[1]);
}

/** Says which parameters the server takes as another type, or else which one stands at the error. */
async function explained(
  subject: Subject,
  { template, rewritten, inspected }: ReadStatement,
  refusal: RefusedStep,
  found: Choice,
  choice: Choice,
): Promise<Refusal> {
  const { capability } = subject;
  const { references, params } = template;
  const misfitAt = (at: number): readonly [Param, ServerType] | undefined => {
    const [param, type] = [params[references[at] ?? -1], found[at]];
    if (param === undefined || typeof type !== 'object' || fits(param.schema, type)) return undefined;
    return [param, type];
  };
  const { detail, hint } = refusal.faults[0] ?? {};
  const said = { ...(detail === undefined ? {} : { detail }), ...(hint === undefined ? {} : { hint }) };
  const misfits = new Map<Param, ServerType>();
  let likely = Infinity;
  for (const at of references.keys()) {
    const misfit = misfitAt(at);
    if (misfit === undefined) continue;
    const [param, type] = misfit;
    // These are less likely at fault: the server takes text if nothing else decides, and a second choice may have
    // fitted.
    const doubt = (secondChoice(param.schema) === undefined ? 0 : 2) + (type.title === 'text' ? 1 : 0);
    if (doubt < likely) misfits.clear();
    likely = Math.min(likely, doubt);
    if (doubt === likely) misfits.set(param, type);
  }
  if (misfits.size === 0) {
    const [number = 0] = parametersAt(inspected.tree, offsetOf(refusal.error, rewritten.text));
    const message = publicMessage(refusal.error, params[number - 1]?.name);
    return { ...refused(capability, message, said), sqlState: refusal.sqlState };
  }
  const isMisfit = (at: number): boolean => misfitAt(at) !== undefined;
  const casts = await adviseCasts(subject, placeholdersFor(template, choice), misfits, isMisfit);
  return {
    ok: false,
    faults: [...misfits].map(([param, type]) => {
      const { name, schema } = param;
      const message = misfitAdvice(name, schema, type, casts?.get(param));
      return faultAt(capability, { message, ...said }, name);
    }),
  };
}
