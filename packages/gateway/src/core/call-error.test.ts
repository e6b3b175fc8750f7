import { expect, test } from 'vitest';
import type { CallErrorCode } from '@svc/protocol';
import { errorResponse } from './call-error.ts';

test.each<[CallErrorCode, number]>([
  ['GATEWAY_UNAUTHORIZED', 401],
  ['GATEWAY_CAPABILITY_NOT_PERMITTED', 403],
  ['GATEWAY_CAPABILITY_NOT_FOUND', 404],
  ['GATEWAY_SOURCE_NOT_ALLOWED', 403],
  ['GATEWAY_NOT_FOUND', 404],
  ['GATEWAY_METHOD_NOT_ALLOWED', 405],
  ['GATEWAY_RATE_LIMITED', 429],
  ['GATEWAY_REQUEST_TIMEOUT', 408],
  ['GATEWAY_INVALID_REQUEST', 400],
  ['AGENT_INVALID_PARAMS', 400],
  ['AGENT_BUSY', 503],
  ['AGENT_QUERY_TIMEOUT', 504],
  ['GATEWAY_AGENT_TIMEOUT', 504],
  ['AGENT_RESULT_TOO_LARGE', 502],
  ['AGENT_QUERY_FAILED', 502],
  ['GATEWAY_AGENT_OFFLINE', 503],
  ['GATEWAY_INTERNAL', 500],
])('%s is %i with exactly code and message', (code, status) => {
  const response = errorResponse(code, 'because "of" this');
  expect(response.status).toBe(status);
  expect(JSON.parse(response.body.toString())).toEqual({ error: { code, message: 'because "of" this' } });
});

test.each<[CallErrorCode, string, string]>([
  ['GATEWAY_UNAUTHORIZED', 'WWW-Authenticate', 'Bearer'],
  ['GATEWAY_REQUEST_TIMEOUT', 'Connection', 'close'],
  ['GATEWAY_UPGRADE_REQUIRED', 'Upgrade', 'websocket'],
  ['GATEWAY_RATE_LIMITED', 'Retry-After', '1'],
  ['AGENT_BUSY', 'Retry-After', '1'],
])('%s says %s: %s', (code, name, value) => {
  const { headers } = errorResponse(code, 'm');
  expect(headers[headers.indexOf(name) + 1]).toBe(value);
});

test('a known time to wait replaces the usual one', () => {
  expect(errorResponse('GATEWAY_RATE_LIMITED', 'm', ['Retry-After', '7']).headers).toEqual([
    'Retry-After',
    '7',
  ]);
});
