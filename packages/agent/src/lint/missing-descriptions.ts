import { counted } from '@svc/edge';
import type { Capability } from '../capabilities/model.ts';
import { atOnce, findingOf, type Finding } from './finding.ts';

const NAMED_FIELDS = 5;

const warn = findingOf('description-missing', 'warn');
const advice = findingOf('description-missing', 'advice');

/** Models choose a capability by its description, and fill in parameters by theirs. */
export function missingDescriptions(capabilities: readonly Capability[]): readonly Finding[] {
  const own = capabilities
    .filter(({ description }) => description.trim() === '')
    .map((each) => warn(each, each, 'has no `description`: say what it gives, and when to call it'));
  return [
    ...own,
    ...atOnce(capabilities.flatMap(ofParams), 'have parameters without `description`: say what they mean'),
    ...atOnce(
      capabilities.flatMap(ofResult),
      'have fields without `description`: say what those mean that their names do not explain',
    ),
  ];
}

/** The description of a field also explains a parameter of the same name. */
function ofParams(capability: Capability): readonly Finding[] {
  const { params, result } = capability;
  const told = new Set(result.filter((field) => !isBare(field)).map(({ name }) => name));
  return params
    .filter((param) => param.from === undefined && isBare(param) && !told.has(param.name))
    .map(({ name, position }) =>
      advice(
        capability,
        { path: `params.${name}`, position },
        'has no `description`: say what it means and where its values come from',
      ),
    );
}

function ofResult(capability: Capability): readonly Finding[] {
  const bare = capability.result.filter(isBare);
  const [first] = bare;
  if (first === undefined) return [];
  const names = bare.slice(0, NAMED_FIELDS).map(({ name }) => `\`${name}\``);
  const more = bare.length > NAMED_FIELDS ? [`${bare.length - NAMED_FIELDS} more`] : [];
  const fields = `${counted(bare.length, 'field has', 'fields have')} no \`description\` (${[...names, ...more].join(', ')})`;
  const message = `${fields}: say what those mean that their names do not explain`;
  return [advice(capability, { path: 'result', position: first.position }, message)];
}

function isBare({ description = '' }: { readonly description?: string }): boolean {
  return description === '';
}
