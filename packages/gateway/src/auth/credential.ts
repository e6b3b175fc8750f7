import { canBeToken } from '@svc/identity';
import { CallError } from '../calls/call-error.ts';
import type { RequestHeaders } from '../http/request/headers.ts';

/**
 * The one key or token that a request presents; undefined without one. Throws CallError 400 with two, since a proxy and
 * we might pick different ones.
 */
export function readCredential(headers: RequestHeaders): string | undefined {
  const { authorization, apiKey, repeated } = headers;
  if (repeated.includes('authorization') || repeated.includes('x-api-key')) throw twoCredentials();
  if (authorization !== undefined && apiKey !== undefined) throw twoCredentials();
  if (apiKey !== undefined) return apiKey;
  return /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
}

/** Whether the credential that `readCredential` found is a token, good or bad. */
export function isToken(credential: string, { apiKey }: RequestHeaders): boolean {
  return apiKey === undefined && canBeToken(credential);
}

/** One answer for every kind of wrong key. */
export function unauthorized(): CallError {
  return new CallError(
    'GATEWAY_UNAUTHORIZED',
    'a valid API key is required: Authorization: Bearer <key>, or X-API-Key: <key>',
  );
}

/** The same where tokens are taken, too: `challenge` tells clients how to get one. */
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
