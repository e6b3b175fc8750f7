import type { ParamType } from '../../../capabilities/model.ts';
import type { ParameterFault } from '../../sql/template.ts';
import type { EngineSession } from '../../engine-process/engine-session.ts';
import { misplacedMessage } from '../../sql/places/list-places.ts';
import { placeOf } from '../../sql/places/parameter-place.ts';
import { countingParams, problemOfCount } from '../../sql/row-counts.ts';
import { ASK_PROBE, type ProbeAnswer, type ProbeQuestion } from '../engine/questions.ts';
import { arrayForm, objectForm, takesList } from './list-places.ts';
import { CASTS, type ParameterReference, type ReadStatement, type Typing } from './read-statement.ts';

const NUMBERS = /^(?:U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|BIGNUM|FLOAT|DOUBLE|DECIMAL\(.*)$/;
const MOMENTS = /^(?:DATE|TIMESTAMP.*)$/;
/** Types to which a value is converted without changing. A text is parsed or refused. */
const FITTING: Readonly<Record<ParamType, RegExp>> = {
  integer: new RegExp(`${NUMBERS.source}|^VARCHAR$`),
  number: new RegExp(`${NUMBERS.source}|^VARCHAR$`),
  boolean: new RegExp(`${NUMBERS.source}|^BOOLEAN$`),
  date: new RegExp(`${MOMENTS.source}|^VARCHAR$`),
  datetime: new RegExp(`${MOMENTS.source}|^VARCHAR$`),
  uuid: /^(?:UUID|VARCHAR)$/,
  string: /^/,
  array: /^/,
  object: /^/,
};
/** Values that are bound to see whether DuckDB accepts the type. */
const SAMPLES: Readonly<Record<ParamType, unknown>> = {
  integer: 1,
  number: 1,
  string: '1',
  boolean: true,
  date: '2000-01-01',
  datetime: '2000-01-01 00:00:00',
  uuid: '00000000-0000-0000-0000-000000000000',
  array: [],
  object: {},
};

/** The types that DuckDB finds for the places of parameters, one by one. */
export async function findTypes(
  session: EngineSession,
  { references, probe }: ReadStatement,
): Promise<readonly (string | null)[]> {
  const found: (string | null)[] = [];
  for (const at of references.keys()) {
    const { types } = await ask(session, { text: probe(at) });
    found.push(types[0] ?? null);
  }
  return found;
}

/** Faults of parameters whose type DuckDB would take for another, or refuse at each call. */
export function misfits(
  { references, body }: ReadStatement,
  found: readonly (string | null)[],
): readonly ParameterFault[] {
  const counts = countingParams(body);
  const faults = references.flatMap(({ param: { name, schema }, index }, at): readonly ParameterFault[] => {
    const type = found[at] ?? null;
    const message =
      (counts.has(name) ? problemOfCount(schema) : undefined) ??
      (schema.type === 'array' || schema.type === 'object'
        ? takesList(body, index, schema, type)
          ? undefined
          : listMessage(body, index, name, schema.type)
        : type === null || FITTING[schema.type].test(type)
          ? undefined
          : misfitMessage(schema.type, name, type));
    return message === undefined ? [] : [{ param: name, message }];
  });
  return [...new Map(faults.map((fault) => [fault.param, fault])).values()];
}

/** Arrays that DuckDB may refuse: it names only the whole statement. */
export function suspectLists({ references, body }: ReadStatement): readonly ParameterFault[] {
  return references.flatMap(({ param: { name, schema }, index, form }) =>
    form === 'list' ? [{ param: name, message: listMessage(body, index, name, schema.type) }] : [],
  );
}

/**
 * Casts the parameters whose bound type DuckDB refuses in their place: to the type that it has found there, or else to
 * the declared one.
 */
export async function castUnbound(
  session: EngineSession,
  { references, params, fill }: ReadStatement,
  typing: Typing,
): Promise<Typing | readonly ParameterFault[]> {
  const types = params.map(({ schema }) => schema.type);
  const isTaken = async (given: Typing, isBound: (index: number) => boolean): Promise<boolean> => {
    const bound = types.map((type, index) => [type, isBound(index) ? SAMPLES[type] : null] as const);
    return (await ask(session, { text: fill(given).text, bound })).error !== 'Binder';
  };
  const areTaken = async (given: Typing): Promise<boolean> =>
    (await isTaken(given, () => true)) && (await isTaken(given, () => false));
  if (types.length === 0 || (await areTaken(typing))) return typing;
  const alone: number[] = [];
  for (const index of types.keys()) {
    if (!(await isTaken(typing, (each) => each === index))) alone.push(index + 1);
  }
  const unbound = new Set(alone.length === 0 ? types.map((_, index) => index + 1) : alone);
  const casts = new Map(typing.casts);
  for (const [at, { number, param, form }] of references.entries()) {
    const declared = CASTS[param.schema.type];
    const type = param.schema.type === 'boolean' ? declared : (typing.found[at] ?? declared);
    if (form === undefined && unbound.has(number)) casts.set(at, type);
  }
  const cast = { ...typing, casts };
  if (await areTaken(cast)) return cast;
  const faulty = references.filter(({ number }) => unbound.has(number));
  return [...new Map(faulty.map((each) => [each.number, unboundFault(each)])).values()];
}

function unboundFault({ param: { name, schema } }: ParameterReference): ParameterFault {
  const { type } = schema;
  return {
    param: name,
    message: `is ${type}, which DuckDB does not take here: declare what it takes, or cast it, as in :${name}::${CASTS[type]}`,
  };
}

function misfitMessage(type: ParamType, name: string, found: string): string {
  return `is ${type}, but DuckDB takes ${found} here: declare it so, or cast it, as in :${name}::${CASTS[type]}`;
}

function listMessage(body: ReadStatement['body'], index: number, name: string, type: ParamType): string {
  return misplacedMessage(name, type, placeOf(body, index), type === 'array' ? arrayForm : objectForm);
}

function ask(session: EngineSession, question: ProbeQuestion): Promise<ProbeAnswer> {
  return session.ask<ProbeAnswer>(ASK_PROBE, question);
}
