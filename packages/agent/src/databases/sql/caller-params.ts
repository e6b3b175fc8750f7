import type { Capability, Param } from '../../capabilities/model.ts';
import type { QueryCall } from '../driver.ts';

/** What SQL may be told of who calls, where its database has `caller_variables`. */
export const CALLER_PARAMS = [
  'svc_api_key_name',
  'svc_capability',
  'svc_request_id',
  'svc_subject',
  'svc_issuer',
  'svc_client_id',
  'svc_claims',
] as const;

type CallerParam = (typeof CALLER_PARAMS)[number];

/** As if the capability had declared it. */
export function callerParam(name: string, { position }: Capability): Param {
  return { name, required: true, schema: { type: 'string' }, position };
}

/** All of them at every call; what is not known is the empty text. */
export function callerValues(
  { apiKeyName, requestId, caller }: QueryCall,
  capability: string,
): Readonly<Record<CallerParam, string>> {
  return {
    svc_api_key_name: apiKeyName,
    svc_capability: capability,
    svc_request_id: requestId,
    svc_subject: caller?.subject ?? '',
    svc_issuer: caller?.issuer ?? '',
    svc_client_id: caller?.clientId ?? '',
    svc_claims: caller?.claimsJson ?? '',
  };
}

/** Parameters that callers send under names of ours: whoever reads the SQL would take them for what the agent says. */
export function reservedParams({ params }: Capability): readonly Param[] {
  return params.filter(({ name }) => name.startsWith('svc_'));
}
