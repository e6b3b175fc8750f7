import type { Capability } from '../../capabilities/model.ts';
import type { VerificationFault } from '../driver/errors.ts';

/** A fault of the SQL, or of one of the parameters. */
export function faultAt(
  capability: Capability,
  fault: Pick<VerificationFault, 'message' | 'detail' | 'hint' | 'remedy'>,
  paramName?: string,
): VerificationFault {
  const param = capability.params.find(({ name }) => name === paramName);
  const path = `capabilities.${capability.name}`;
  return param === undefined
    ? { path: `${path}.sql`, position: capability.sqlPosition, ...fault }
    : { path: `${path}.params.${param.name}`, position: param.position, ...fault };
}
