import type { Capability } from '../../capabilities/model.ts';
import type { PreparedCapability, Verification } from '../driver/driver.ts';
import type { VerificationFault } from '../driver/errors.ts';

type FaultText = Pick<VerificationFault, 'message' | 'detail' | 'hint' | 'remedy'>;

export interface Refusal {
  readonly ok: false;
  readonly faults: readonly VerificationFault[];
}

export type ReadResult<Read> = { readonly ok: true; readonly read: Read } | Refusal;

export type CheckResult<Prepared extends PreparedCapability> =
  /** The capability as it came, or with parameters narrowed to what the database takes. */
  { readonly ok: true; readonly query: Prepared; readonly capability: Capability } | Refusal;

/** A fault of the SQL, or of one of the parameters. */
export function faultAt(capability: Capability, fault: FaultText, paramName?: string): VerificationFault {
  const param = capability.params.find(({ name }) => name === paramName);
  const path = `capabilities.${capability.name}`;
  return param === undefined
    ? { path: `${path}.sql`, position: capability.sqlPosition, ...fault }
    : { path: `${path}.params.${param.name}`, position: param.position, ...fault };
}

/** `param` names the parameter that is at fault; without it the SQL is. */
export function refused(
  capability: Capability,
  ...faults: readonly (FaultText & { readonly param?: string })[]
): Refusal {
  return { ok: false, faults: faults.map(({ param, ...fault }) => faultAt(capability, fault, param)) };
}

export function verificationOf<Prepared extends PreparedCapability>(
  results: readonly CheckResult<Prepared>[],
): Verification<Prepared> {
  const passed = results.flatMap((result) => (result.ok ? [result] : []));
  return {
    prepared: passed.map(({ query }) => query),
    capabilities: passed.map(({ capability }) => capability),
    faults: results.flatMap((result) => (result.ok ? [] : result.faults)),
  };
}
