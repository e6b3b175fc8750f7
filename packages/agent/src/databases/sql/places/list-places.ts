import type { Capability, Param } from '../../../capabilities/model.ts';
import type { ParameterFault } from '../template.ts';
import type { SqlToken } from '../scanner.ts';
import { placeOf, type Place } from './parameter-place.ts';
import { indexesOf } from './tokens.ts';

/** Where a dialect takes the JSON text of an array or an object. */
export interface ListPlaces {
  /** Functions in lower case with the arguments that take it: the first is 0. */
  readonly functions: Readonly<Record<string, readonly number[]>>;
  /** For messages: how an array is written elsewhere than after IN. `:p` stands for the parameter. */
  readonly arrayForm: string;
  readonly objectForm: string;
}

export interface ListParameter {
  readonly param: Param;
  /** The index of its token. */
  readonly index: number;
}

/** The arrays that are alone in the parentheses of IN. */
export function listParameters(
  body: readonly SqlToken[],
  { params }: Pick<Capability, 'params'>,
): readonly ListParameter[] {
  const arrays = new Map(
    params.flatMap((param) => (param.schema.type === 'array' ? [[`:${param.name}`, param]] : [])),
  );
  return body.flatMap(({ kind, text }, index): readonly ListParameter[] => {
    const param = kind === 'parameter' ? arrays.get(text) : undefined;
    if (param === undefined) return [];
    const place = placeOf(body, index);
    return place.kind === 'list' && !place.isRow ? [{ param, index }] : [];
  });
}

/** Marks each parameter that is one of those. */
export function markLists(
  params: readonly Param[],
  body: readonly SqlToken[],
  capability: Pick<Capability, 'params'>,
): readonly (Param & { readonly isList?: true })[] {
  const lists = new Set(listParameters(body, capability).map(({ param }) => param.name));
  return params.map((param) => (lists.has(param.name) ? { ...param, isList: true } : param));
}

/** Faults of arrays and objects in a wrong place, one for each parameter. */
export function misplacedLists(
  body: readonly SqlToken[],
  { params }: Capability,
  { functions, arrayForm, objectForm }: ListPlaces,
): readonly ParameterFault[] {
  return params.flatMap(({ name, schema: { type } }) => {
    if (type !== 'array' && type !== 'object') return [];
    const places = indexesOf(body, name).map((index) => placeOf(body, index));
    const wrong = places.find((place) => !takes(place, type, functions));
    if (wrong === undefined) return [];
    const form = type === 'array' ? arrayForm : objectForm;
    return [{ param: name, message: misplacedMessage(name, type, wrong, form) }];
  });
}

function takes(place: Place, type: 'array' | 'object', functions: ListPlaces['functions']): boolean {
  switch (place.kind) {
    case 'list':
      return type === 'array' && !place.isRow;
    case 'argument':
      return functions[place.of]?.includes(place.at) === true;
    case 'members':
    case 'null-test':
    case 'column':
      return true;
    default:
      return false;
  }
}

export function misplacedMessage(name: string, type: string, place: Place, form: string): string {
  const written = form.replaceAll(':p', `:${name}`);
  if (type === 'object') return `is an object, but the SQL takes one value here: write ${written}`;
  if (place.kind === 'list')
    return `is an array, but the SQL compares several values with each item: compare one, as in x in (:${name})`;
  const alone =
    place.kind === 'listed' ? 'stands beside other values' : 'stands where the SQL takes one value';
  return `is an array, but ${alone}: write x in (:${name}) with nothing else in the parentheses, or ${written}`;
}
