import { startService, type Service } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readDocument } from './documents.ts';

/** The order of checks as documented: a request with every fault, of which one after the other is corrected. */
const documented = [
  ...readDocument('docs/reference/http.md').text.matchAll(/^\| \d+ +\| [^|]+\| `(GATEWAY_\w+)` +\|$/gm),
].map(([, code]) => code);

let service: Service;
beforeAll(async () => {
  // No agent: what comes after that is for the tests of calls.
  service = await startService({
    database: { host: '', port: 0, user: '', password: '', name: '' },
    capabilities: '',
    agents: 0,
    keys: { some: 'permitted' },
    gatewayEnv: {
      GATEWAY_TRUSTED_PROXY_CIDRS: '127.0.0.1',
      GATEWAY_IP_ALLOW_LIST: '192.0.2.0/24',
      GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '0.01',
      GATEWAY_RATE_LIMIT_BURST: '1',
    },
  });
});
afterAll(() => service.stop());

async function codeOf(
  source: string,
  method: string,
  path: string,
  more: Readonly<Record<string, string>>,
): Promise<unknown> {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: { 'x-forwarded-for': source, ...more },
    ...(method === 'POST' ? { body: 'not JSON' } : {}),
  });
  const { error }: { error: { code: string } } = JSON.parse(await response.text());
  return error.code;
}

test('faults are answered in the documented order', async () => {
  const CALL = '/api/v1/capabilities/';
  const key = { 'x-api-key': service.apiKeys['some'] ?? '' };
  const json = { ...key, 'content-type': 'application/json' };
  await codeOf('192.0.2.1', 'GET', '/nowhere', {});
  const seen = [
    await codeOf('203.0.113.1', 'GET', '/nowhere', {}),
    await codeOf('192.0.2.1', 'GET', '/nowhere', {}),
    await codeOf('192.0.2.2', 'GET', '/nowhere', {}),
    await codeOf('192.0.2.3', 'PUT', `${CALL}other`, {}),
    await codeOf('192.0.2.4', 'POST', `${CALL}other`, {}),
    await codeOf('192.0.2.5', 'POST', `${CALL}other`, key),
    await codeOf('192.0.2.6', 'POST', `${CALL}permitted`, json),
  ];
  const response = await fetch(`${service.url}${CALL}permitted`, {
    method: 'POST',
    headers: { ...json, 'x-forwarded-for': '192.0.2.7' },
    body: '{}',
  });
  expect(await response.json()).toMatchObject({ error: { code: documented[7] } });
  expect(seen).toEqual(documented.slice(0, 7));
  expect(documented).toHaveLength(10);
});
