import type { CatalogColumn, ColumnKind } from '../../databases/driver/catalog.ts';
import type { ParamType, ResultType } from '../../capabilities/model.ts';
import { shortened } from '../render/one-line.ts';
import type { ProposedField, ProposedParam } from '../model.ts';

const RESULT_TYPES: Readonly<Record<ColumnKind, ResultType>> = {
  integer: 'integer',
  number: 'number',
  text: 'string',
  boolean: 'boolean',
  date: 'date',
  datetime: 'datetime',
  uuid: 'string',
  enum: 'string',
  array: 'array',
  object: 'object',
  json: 'string',
  address: 'string',
  opaque: 'string',
  other: 'string',
};
const PARAM_TYPES: Partial<Readonly<Record<ColumnKind, ParamType>>> = {
  integer: 'integer',
  number: 'number',
  text: 'string',
  boolean: 'boolean',
  date: 'date',
  datetime: 'datetime',
  uuid: 'uuid',
  enum: 'string',
};
/** Of the others some values become null: infinities, NaN, days that no calendar has. */
const KEPT_WHOLE: ReadonlySet<ColumnKind> = new Set(['integer', 'text', 'boolean', 'uuid', 'enum']);
const DESCRIPTION_MAX = 160;
/** What callers give is looked up in an index; what one holds is shorter, 2,704 bytes in PostgreSQL. */
const TEXT_MAX = 3000;
/** Labels are shorter; which there are becomes part of the parameter when the agent starts. */
const LABEL_MAX = 255;

/** Whether callers can give values of the column. */
export function isGiven({ kind }: CatalogColumn): boolean {
  return PARAM_TYPES[kind] !== undefined;
}

export function paramFor(name: string, column: CatalogColumn, required: boolean): ProposedParam {
  const { kind, labels, maxLength } = column;
  const type = PARAM_TYPES[kind];
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
    type: RESULT_TYPES[kind],
    ...(kind === 'uuid' ? { format: 'uuid' } : {}),
    ...(isWhole && !nullable ? { nullable: false } : {}),
    ...described(column),
  };
}

function described({ comment = '' }: CatalogColumn): { readonly description?: string } {
  const description = shortened(comment, DESCRIPTION_MAX);
  return description === '' ? {} : { description };
}
