import { CallError } from '../calls/call-error.ts';
import type { RequestHeaders } from '../http/request/headers.ts';

/**
 * The one key that a request presents. Throws CallError: 401 without
 * one, 400 with two, since a proxy and we might pick different ones.
 */
export function readCredential(headers: RequestHeaders): string {
  const { authorization, apiKey, repeated } = headers;
  if (repeated.includes('authorization') || repeated.includes('x-api-key')) throw twoCredentials();
  if (authorization !== undefined && apiKey !== undefined) throw twoCredentials();
  if (apiKey !== undefined) return apiKey;
  const key = /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  if (key === undefined) throw unauthorized();
  return key;
}

/** One answer for every kind of wrong key. */
export function unauthorized(): CallError {
  return new CallError(
    'GATEWAY_UNAUTHORIZED',
    'a valid API key is required: Authorization: Bearer <key>, or X-API-Key: <key>',
  );
}

function twoCredentials(): CallError {
  return new CallError('GATEWAY_INVALID_REQUEST', 'send one credential header, once');
}
