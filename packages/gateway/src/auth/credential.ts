import { canBeToken } from '@svc/identity';
import { CallError } from '../core/call-error.ts';
import type { RequestHeaders } from '../http/request/headers.ts';

/**
 * The one key or token of a request. Throws CallError 400 when there are two, since a proxy might pick the other one.
 * `takesTokens`: whether the service has an issuer of tokens.
 */
export function readCredential(headers: RequestHeaders, takesTokens: boolean): string | undefined {
  const { authorization, apiKey, repeated } = headers;
  if (repeated.includes('authorization') || repeated.includes('x-api-key')) throw twoCredentials();
  const bearer = /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  if (apiKey === undefined) return bearer;
  if (authorization !== undefined && !isOfProxy(authorization, bearer, takesTokens)) throw twoCredentials();
  return apiKey;
}

/** Whether a proxy in front of the gateway must have added the header for itself: the gateway takes no such credential. */
function isOfProxy(authorization: string, bearer: string | undefined, takesTokens: boolean): boolean {
  if (bearer !== undefined) return !takesTokens && canBeToken(bearer);
  return !/^bearer\b/i.test(authorization);
}

/** Whether the credential that `readCredential` found is a token, good or bad. */
export function isToken(credential: string, { apiKey }: RequestHeaders): boolean {
  return apiKey === undefined && canBeToken(credential);
}

/** The answer to a wrong key or token where both are taken; `challenge` tells clients how to get a token. */
export function unauthorizedByEither(challenge: string): CallError {
  return new CallError(
    'GATEWAY_UNAUTHORIZED',
    'a valid access token or API key is required: Authorization: Bearer <token or key>, or X-API-Key: <key>',
    { headers: ['WWW-Authenticate', challenge] },
  );
}

function twoCredentials(): CallError {
  return new CallError('GATEWAY_INVALID_REQUEST', 'send one credential header, once');
}
