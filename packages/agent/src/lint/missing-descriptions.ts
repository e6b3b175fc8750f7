import { counted } from '@svc/edge';
import type { Capability } from '../capabilities/model.ts';
import { findingOf, type Finding } from './finding.ts';

const NAMED_FIELDS = 5;

const warn = findingOf('description-missing', 'warn');
const advice = findingOf('description-missing', 'advice');

/** Models choose by descriptions, and fill in parameters by them. */
export function missingDescriptions(capability: Capability): readonly Finding[] {
  const { description, params, result } = capability;
  const own =
    description.trim() === ''
      ? [warn(capability, capability, 'has no `description`: say what it gives, and when to call it')]
      : [];
  const ofParams = params
    .filter((param) => param.from === undefined && (param.description ?? '') === '')
    .map(({ name, position }) =>
      advice(
        capability,
        { path: `params.${name}`, position },
        'has no `description`: say what it means and where its values come from',
      ),
    );
  const bare = result.filter((field) => (field.description ?? '') === '');
  const [first] = bare;
  if (first === undefined) return [...own, ...ofParams];
  const names = bare.slice(0, NAMED_FIELDS).map(({ name }) => `\`${name}\``);
  const more = bare.length > NAMED_FIELDS ? [`${bare.length - NAMED_FIELDS} more`] : [];
  const fields = `${counted(bare.length, 'field has', 'fields have')} no \`description\` (${[...names, ...more].join(', ')})`;
  const message = `${fields}: say what those mean that their names do not explain`;
  return [...own, ...ofParams, advice(capability, { path: 'result', position: first.position }, message)];
}
