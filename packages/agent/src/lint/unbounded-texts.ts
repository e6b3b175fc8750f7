import type { Capability, ParamSchema } from '../capabilities/model.ts';
import { findingOf, type Finding } from './finding.ts';

const warn = findingOf('text-unbounded', 'warn');

/** A text as long as a request may be reaches the database, and its comparisons. */
export function unboundedTexts(capability: Capability): readonly Finding[] {
  return capability.params
    .filter(({ from, schema }) => from === undefined && isUnbounded(schema.items ?? schema))
    .map(({ name, position }) =>
      warn(capability, { path: `params.${name}`, position }, 'may be of any length: give it a `maxLength`'),
    );
}

/** Of the formats only that of URIs leaves the length open. */
function isUnbounded({ type, maxLength, enum: allowed, format = 'uri' }: ParamSchema): boolean {
  return type === 'string' && maxLength === undefined && allowed === undefined && format === 'uri';
}
