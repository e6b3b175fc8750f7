import type { Description } from '@svc/protocol';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createCatalog, type Catalog } from '../../catalog/catalog.ts';
import { offering } from '../../catalog/offer.testing.ts';
import { readCredential } from '../../auth/credential.ts';
import { CallError } from '../../core/call-error.ts';
import { keyPrincipal } from '../../core/principal.testing.ts';
import { ask, startServer, type Answer, type StartedServer } from '../../http/server-by-hand.testing.ts';
import { createOpenApiHandler } from './document.ts';

let catalog: Catalog;
let server: StartedServer;
beforeEach(async () => {
  catalog = createCatalog(() => {});
  server = await startServer({
    openapi: createOpenApiHandler({
      authenticate: async (exchange) => {
        const name = readCredential(exchange.headers, false);
        if (name === undefined) throw new CallError('GATEWAY_UNAUTHORIZED');
        return keyPrincipal(name, name === 'all' ? '*' : new Set<string>());
      },
      catalog,
      publicUrl: undefined,
      issuers: [],
    }),
  });
});
afterEach(async () => {
  await server.close();
});

function describing(title: string): Description {
  return { openapi: { openapi: '3.1.0', info: { title, version: '1' }, paths: {} }, manifest: [] };
}

const get = (headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> =>
  ask(server.port, '/openapi.json', { method, headers: { 'X-API-Key': 'all', ...headers } });

test('before any agent has connected there is nothing to serve', async () => {
  const { status, text } = await get();
  expect(status).toBe(503);
  expect(JSON.parse(text).error).toEqual({
    code: 'GATEWAY_AGENT_OFFLINE',
    message: 'agent is not connected',
  });
});

test('the caller is authenticated first', async () => {
  expect((await ask(server.port, '/openapi.json')).status).toBe(401);
});

test('long descriptions that are still taken in are waited for', async () => {
  const paths = Object.fromEntries(Array.from({ length: 30_000 }, (_, at) => [`/${at}`, {}]));
  for (const title of ['first', 'second']) {
    const described = describing(title);
    const openapi = { ...described.openapi, paths };
    catalog.add({ ...offering({ ...described, openapi }, title), bytes: 2_000_000 });
  }
  expect(catalog.description).toBeUndefined();
  const { status, text } = await get();
  expect(status).toBe(200);
  expect(JSON.parse(text).info.title).toBe('second');
});

test('the newest description is served, also while the agent is away', async () => {
  catalog.add(offering(describing('old')));
  const leave = catalog.add(offering(describing('new')));
  leave();
  const { status, headers, text } = await get();
  expect(status).toBe(200);
  expect(headers['content-type']).toBe('application/json');
  expect(JSON.parse(text).info.title).toBe('new');
});

test('HEAD has the same headers and no body', async () => {
  catalog.add(offering(describing('t')));
  const [head, whole] = [await get({}, 'HEAD'), await get()];
  expect(head.text).toBe('');
  expect(head.headers.etag).toBe(whole.headers.etag);
  expect(head.headers['content-length']).toBe(String(Buffer.byteLength(whole.text)));
});

test('a caller that has the document already gets 304, until it changes', async () => {
  catalog.add(offering(describing('old')));
  const etag = String((await get()).headers.etag);
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const { status, headers, text } = await get({ 'If-None-Match': known });
    expect(status).toBe(304);
    expect(headers.etag).toBe(etag);
    expect(text).toBe('');
  }
  expect((await get({ 'If-None-Match': '"other"' })).status).toBe(200);
  catalog.add(offering(describing('new')));
  expect((await get({ 'If-None-Match': etag })).status).toBe(200);
});
