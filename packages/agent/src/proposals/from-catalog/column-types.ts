import type { CatalogColumn, ColumnKind } from '../../databases/driver/catalog.ts';
import type { ParamType, ResultType } from '../../capabilities/model.ts';
import { shortened } from '../render/one-line.ts';
import type { ProposedField, ProposedParam } from '../model.ts';

/** The type of a field, then that of a parameter if callers can give values of the kind. */
const TYPES: Readonly<Record<ColumnKind, readonly [ResultType, ParamType?]>> = {
  integer: ['integer', 'integer'],
  number: ['number', 'number'],
  text: ['string', 'string'],
  boolean: ['boolean', 'boolean'],
  date: ['date', 'date'],
  datetime: ['datetime', 'datetime'],
  uuid: ['string', 'uuid'],
  enum: ['string', 'string'],
  array: ['array'],
  object: ['object'],
  json: ['string'],
  address: ['string'],
  opaque: ['string'],
  other: ['string'],
};
/** Some values of other kinds become null: infinities, NaN, dates that no calendar has. */
const KEPT_WHOLE: ReadonlySet<ColumnKind> = new Set(['integer', 'text', 'boolean', 'uuid', 'enum']);
const DESCRIPTION_MAX = 160;
/** Longer texts cannot be in an index, where PostgreSQL holds up to 2,704 bytes. */
const TEXT_MAX = 3000;
/** Labels are shorter. At its start the agent adds the labels themselves to the parameter. */
const LABEL_MAX = 255;

/** Whether callers can give values of the column. */
export function isGiven({ kind }: CatalogColumn): boolean {
  return TYPES[kind][1] !== undefined;
}

export function paramFor(name: string, column: CatalogColumn, required: boolean): ProposedParam {
  const { kind, labels, maxLength } = column;
  const [, type] = TYPES[kind];
  if (type === undefined) throw new Error(`no parameter has a value of the kind ${kind}`);
  return {
    name,
    type,
    ...(required ? { required } : {}),
    ...(kind === 'enum' ? { maxLength: LABEL_MAX } : {}),
    ...(kind === 'text' && labels === undefined ? { maxLength: maxLength ?? TEXT_MAX } : {}),
    ...(kind === 'text' && labels !== undefined ? { enum: labels } : {}),
    ...described(column),
  };
}

export function fieldFor(name: string, column: CatalogColumn): ProposedField {
  const { kind, holdsMore, nullable } = column;
  const isWhole = KEPT_WHOLE.has(kind) && holdsMore !== true;
  return {
    name,
    type: TYPES[kind][0],
    ...(kind === 'uuid' ? { format: 'uuid' } : {}),
    ...(isWhole && !nullable ? { nullable: false } : {}),
    ...described(column),
  };
}

function described({ comment = '' }: CatalogColumn): { readonly description?: string } {
  const description = shortened(comment, DESCRIPTION_MAX);
  return description === '' ? {} : { description };
}
