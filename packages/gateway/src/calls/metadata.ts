import { DEFAULT_SERVICE, type Metadata } from '@svc/protocol';
import type { CallableLink } from '../agents/callable-link.ts';
import type { Principal } from '../core/principal.ts';

interface DescribedCall {
  readonly requestId: string;
  readonly traceparent: string | undefined;
  readonly principal: Principal;
}

/**
 * What an agent is told of a call beside its parameters. At version 1 an agent knows keys by their names alone, and no
 * call of a token is sent to it.
 */
export function metadataFor(
  { requestId, traceparent, principal }: DescribedCall,
  { protocolVersion, identity }: Pick<CallableLink, 'protocolVersion' | 'identity'>,
  service: string = DEFAULT_SERVICE,
): Metadata {
  const metadata: Record<string, string> =
    principal.kind === 'token'
      ? {
          request_id: requestId,
          principal: principal.id,
          issuer: principal.issuer,
          subject: principal.subject,
        }
      : { request_id: requestId, api_key_name: principal.name };
  if (traceparent !== undefined) metadata['traceparent'] = traceparent;
  if (protocolVersion === 1) return metadata;
  if (service !== DEFAULT_SERVICE) metadata['service'] = service;
  if (principal.claimsJson !== '') metadata['claims'] = principal.claimsJson;
  if (principal.kind === 'api_key') {
    metadata['principal'] = principal.id;
    return metadata;
  }
  if (principal.clientId !== '') metadata['client_id'] = principal.clientId;
  if (identity === 'token') metadata['token'] = principal.token;
  return metadata;
}
