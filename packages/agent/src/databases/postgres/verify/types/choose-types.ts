import type pg from 'pg';
import type { Capability, Param, ParamSchema } from '../../../../capabilities/model.ts';
import { PIN_SEARCH_PATH } from '../../execute/pin-search-path.ts';
import { sqlStateOf, textOf } from '../../connection/server-errors.ts';
import { parametersAt } from '../statement/inspect.ts';
import { adviseCasts, misfitAdvice } from './advise-cast.ts';
import { castsOf, comparesItsOwnWay, fits, isDeclaredType, narrowed, secondChoice } from './parameter-fit.ts';
import {
  explain,
  offsetOf,
  preparedName,
  prepareOnly,
  publicMessage,
  refused,
  step,
  withHint,
  type Refusal,
} from '../plan-statement.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { faultAt } from '../../../sql/fault-at.ts';
import { readFilled, type ReadStatement } from '../statement/read-statement.ts';
import type { Template } from '../../../sql/template.ts';
import type { Placeholder } from '../statement/placeholder.ts';
import { parameterTypesStatement, readParameterTypes } from './server-types.ts';
import type { BoundParam, ServerType, WrittenCast } from '../../execute/prepared-query.ts';
import type { SessionFacts } from '../../connection/database-session.ts';
import { sqlTypeOf } from '../../execute/bind-values.ts';

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
/** For each reference what it takes besides its declared type; see `castsOf`. */
type Choice = readonly (ServerType | 'any' | undefined)[];

/** undefined_function, datatype_mismatch, ambiguous_function, cannot_coerce, indeterminate_datatype, ambiguous_parameter */
const TYPE_ERRORS = new Set(['42883', '42804', '42725', '42846', '42P18', '42P08']);
const INDETERMINATE = '42P18';

/**
 * Plans a capability's SQL, and decides what each parameter is bound as: its declared type where the server
 * takes the statement so, else what the server itself takes at that place if it means the same. A parameter keeps its
 * declared type where the statement fits without changing it.
 */
export async function chooseTypes(
  pool: SessionPool,
  capability: Capability,
  first: ReadStatement,
): Promise<TypedStatement> {
  const chosen = await chooseFor(pool, capability, first);
  const { written } = first;
  if (chosen.ok || written === undefined) return chosen;
  const asWritten = await chooseFor(pool, capability, written);
  return asWritten.ok ? asWritten : chosen;
}

async function chooseFor(
  pool: SessionPool,
  capability: Capability,
  read: ReadStatement,
): Promise<TypedStatement> {
  const { template } = read;
  const declared: Choice = template.references.map(() => undefined);
  const asDeclared = await plan(pool, capability, read, declared);
  if (asDeclared.ok) {
    const own = await ownComparisons(pool, capability, asDeclared);
    return own ?? asDeclared;
  }
  if (!TYPE_ERRORS.has(sqlStateOf(asDeclared.error) ?? '') || declared.length === 0) return asDeclared;

  const found = await askTypes(pool, capability, read);
  const choice = template.references.map((index, at) => chooseAt(template.params[index], found?.[at]));
  if (!(await isTaken(pool, capability, template, choice))) {
    return explained(pool, capability, read, asDeclared, found ?? [], choice);
  }
  return planChoice(pool, capability, template, await restoreDeclared(pool, capability, template, choice));
}

function chooseAt(param: Param | undefined, found: ServerType | 'any' | undefined): Choice[number] {
  if (param === undefined) return undefined;
  if (found === 'any') return 'any';
  if (found === undefined || !fits(param.schema, found)) return secondChoice(param.schema);
  return isDeclaredType(param.schema, found) ? undefined : found;
}

/**
 * Returns each parameter to its declared type, one after the other, where the server accepts the statement with it. Not a
 * string: the server may accept it as text, and then compare in another way than the column does.
 */
async function restoreDeclared(
  pool: SessionPool,
  capability: Capability,
  template: Template,
  choice: Choice,
): Promise<Choice> {
  let kept = choice;
  for (const [index, { schema }] of template.params.entries()) {
    if (isString(schema)) continue;
    const isCast = (at: number): boolean => template.references[at] === index && typeof kept[at] === 'object';
    // With all declared types the statement was refused, so at least one change must stay.
    if (!kept.some((place, at) => typeof place === 'object' && !isCast(at))) break;
    if (!kept.some((_, at) => isCast(at))) continue;
    const fewer = kept.map((place, at) => (isCast(at) ? undefined : place));
    if (await isTaken(pool, capability, template, fewer)) kept = fewer;
  }
  return kept;
}

/** Whether the server accepts the types, which it checks before it plans. */
async function isTaken(
  pool: SessionPool,
  capability: Capability,
  template: Template,
  choice: Choice,
): Promise<boolean> {
  const result = readFilled(capability, template, placeholdersFor(template, choice));
  return result.ok && (await step(pool, capability, prepareOnly(result.read.rewritten.text))).ok;
}

/** Binds strings as the types that compare in another way than text does; undefined where there is none. */
async function ownComparisons(
  pool: SessionPool,
  capability: Capability,
  asDeclared: Accepted,
): Promise<Accepted | undefined> {
  const { template } = asDeclared.read;
  const strings = template.params.map(({ schema }) => isString(schema));
  // Such a column, compared with text, is cast to text, and the plan says so.
  const casts = JSON.stringify(asDeclared.plan.plan).includes(')::text');
  if (!casts || !strings.includes(true)) return undefined;
  const found = await askTypes(pool, capability, asDeclared.read);
  const choice = template.references.map((index, at) => {
    const type = strings[index] === true ? found?.[at] : undefined;
    return type === 'any' || (type !== undefined && comparesItsOwnWay(type)) ? type : undefined;
  });
  if (!choice.some((place) => typeof place === 'object')) return undefined;
  const own = await planChoice(pool, capability, template, choice);
  return own.ok ? own : undefined;
}

function isString(schema: ParamSchema): boolean {
  return (schema.items ?? schema).type === 'string';
}

async function planChoice(
  pool: SessionPool,
  capability: Capability,
  template: Template,
  choice: Choice,
): Promise<TypedStatement> {
  const result = readFilled(capability, template, placeholdersFor(template, choice));
  return result.ok ? plan(pool, capability, result.read, choice) : result;
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
  pool: SessionPool,
  capability: Capability,
  read: ReadStatement,
  choice: Choice,
): Promise<Accepted | (Refusal & { readonly error?: unknown })> {
  const { text } = read.rewritten;
  const { params } = read.template;
  const planned = await step(pool, capability, [
    ...explain(text, params.length),
    // Runs nothing: a limit of 0 never asks for a row, but the server says of what types the columns are.
    { text: `select * from (\n${text}\n) q limit 0`, values: params.map(() => null) },
  ]);
  if (!planned.ok) return withHint(planned, text);
  const { results, facts } = planned.output;
  const [, , explained, , described] = results;
  return {
    ok: true,
    read,
    plan: { plan: JSON.parse(explained?.rows[0]?.[0] ?? 'null'), columns: described?.fields ?? [], facts },
    params: boundParams(read, choice),
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
 * Asks the server which type it takes at each place. Places are asked for apart, each with a number of its own, since
 * one parameter may stand for several types. Undefined where the server cannot say.
 */
async function askTypes(
  pool: SessionPool,
  capability: Capability,
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
    const types = await askTypesGiven(pool, capability, template, declared, casts, new Set(anything));
    if (types !== undefined) return types;
  }
  return undefined;
}

async function askTypesGiven(
  pool: SessionPool,
  capability: Capability,
  template: Template,
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
    const name = preparedName();
    const [prepare, ...rest] = prepareOnly(result.read.rewritten.text, name);
    const asked = await step(pool, capability, [
      prepare,
      PIN_SEARCH_PATH,
      parameterTypesStatement(name),
      ...rest,
    ]);
    if (asked.ok) {
      const types = asked.output.results[2];
      if (types?.rows.length !== casts.length) return undefined;
      return readParameterTypes(types).map((type, at) => (anything.has(at) ? 'any' : type));
    }
    // A place that takes every type, as in `:x is null`: the server names the first one by its number.
    const at = sqlStateOf(asked.error) === INDETERMINATE ? numberIn(asked.error) - 1 : -1;
    if (declared[at] === undefined || anything.has(at)) return undefined;
    anything.add(at);
  }
}

/** The same in every language of the server. */
function numberIn(error: unknown): number {
  return Number(/\$(\d+)/.exec(textOf(error))?.[1]);
}

/** Says which parameters the server takes as another type, or else which one stands where it found the error. */
async function explained(
  pool: SessionPool,
  capability: Capability,
  { template, rewritten, inspected }: ReadStatement,
  refusal: Refusal & { readonly error?: unknown },
  found: Choice,
  choice: Choice,
): Promise<Refusal> {
  const { references, params } = template;
  const { detail, hint } = refusal.faults[0] ?? {};
  const said = { ...(detail === undefined ? {} : { detail }), ...(hint === undefined ? {} : { hint }) };
  const misfits = new Map<Param, ServerType>();
  let likely = Infinity;
  for (const [at, index] of references.entries()) {
    const [param, type] = [params[index], found[at]];
    if (param === undefined || typeof type !== 'object' || fits(param.schema, type)) continue;
    // Less likely at fault: the server takes text where nothing else decides, and a second choice may have fitted.
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
  const casts = await adviseCasts(pool, capability, template, {
    placeholders: placeholdersFor(template, choice),
    misfits,
    isMisfit(at) {
      const [param, type] = [params[references[at] ?? -1], found[at]];
      return param !== undefined && typeof type === 'object' && !fits(param.schema, type);
    },
  });
  return {
    ok: false,
    faults: [...misfits].map(([param, type]) => {
      const { name, schema } = param;
      const message = misfitMessage(name, schema, type, casts?.get(param));
      return faultAt(capability, { message, ...said }, name);
    }),
  };
}

/** A cast helps between types, but not between one value and a list of them. */
function misfitMessage(
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
  return misfitAdvice(name, schema, type, cast);
}
