import type { Capability, ResultType } from '../capabilities/model.ts';
import type { ColumnKind } from '../databases/driver/catalog.ts';
import { sensitivityOf } from '../proposals/personal-columns.ts';
import { findingOf, type Finding } from './finding.ts';

const error = findingOf('personal-field', 'error');
const warn = findingOf('personal-field', 'warn');

/** Fields that by their name hold a credential, or something about a person. */
export function personalFields(capability: Capability): readonly Finding[] {
  return capability.result.flatMap(({ name, type, description, position }) => {
    const comment = description === undefined ? {} : { comment: description };
    const sensitivity = sensitivityOf({ table: capability.name, name, kind: kindOf(type), ...comment });
    if (sensitivity === undefined) return [];
    const at = { path: `result.${name}`, position };
    switch (sensitivity.kind) {
      case 'credential':
        return [
          error(
            capability,
            at,
            `looks like a credential (${sensitivity.because}): leave it out, or rename it`,
          ),
        ];
      case 'personal':
        return [
          warn(
            capability,
            at,
            `looks personal (${sensitivity.because}): leave it out unless every caller may see it`,
          ),
        ];
    }
  });
}

function kindOf(type: ResultType): ColumnKind {
  return type === 'string' ? 'text' : type;
}
