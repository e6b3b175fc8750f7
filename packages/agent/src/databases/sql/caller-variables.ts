import type { Capability, Param } from '../../capabilities/model.ts';
import type { QueryCall } from '../driver/driver.ts';
import type { ParameterFault } from './template.ts';

/** What SQL is told about the caller, by name, if its database has `caller_variables`. '' if unknown. */
const VALUES: Readonly<Record<string, (call: QueryCall, capability: string) => string>> = {
  svc_api_key_name: ({ apiKeyName }) => apiKeyName,
  svc_capability: (_call, capability) => capability,
  svc_request_id: ({ requestId }) => requestId,
  svc_subject: ({ caller }) => caller?.subject ?? '',
  svc_issuer: ({ caller }) => caller?.issuer ?? '',
  svc_client_id: ({ caller }) => caller?.clientId ?? '',
  svc_claims: ({ caller }) => caller?.claimsJson ?? '',
};
export const CALLER_NAMES: readonly string[] = Object.keys(VALUES);
const PREFIX = 'svc_';

/** Undefined for any other name. */
export function callerValue(name: string, call: QueryCall, capability: string): string | undefined {
  return Object.hasOwn(VALUES, name) ? VALUES[name]?.(call, capability) : undefined;
}

/** The caller's variables that a statement names, as if the capability had declared them. */
export function callerParams(names: readonly string[], { sqlPosition }: Capability): readonly Param[] {
  return names
    .filter((name) => Object.hasOwn(VALUES, name))
    .map((name) => ({ name, required: false, schema: { type: 'string' }, position: sqlPosition }));
}

export function isReserved(name: string): boolean {
  return name.startsWith(PREFIX);
}

export function reservedNames({ params }: Capability): readonly ParameterFault[] {
  return params
    .filter(({ name }) => isReserved(name))
    .map(({ name }) => ({
      param: name,
      message: `begins with ${PREFIX}, which is reserved for parameters that name the caller: give it another name`,
    }));
}
