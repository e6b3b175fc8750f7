import { dial } from '@svc/testkit';
import { afterEach, describe, expect, test } from 'vitest';
import { CallError } from '../core/call-error.ts';
import { ask, CALL, post, silentCalls, startServer, type StartedServer } from './server-by-hand.testing.ts';
import type { Handlers } from './server.ts';

const started: StartedServer[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.close()));
});

async function start(handlers?: Partial<Handlers>): Promise<StartedServer> {
  const server = await startServer(handlers);
  started.push(server);
  return server;
}

const code = (text: string): unknown => JSON.parse(text).error.code;

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

test.each([
  ['a-Z.9_', true],
  ['x'.repeat(128), true],
  ['x'.repeat(129), false],
  ['with blank', false],
  ['', false],
])('an answer keeps the caller’s request id %j: %s', async (id, kept) => {
  const { port } = await start();
  const { headers } = await ask(port, '/healthz', { headers: { 'X-Request-Id': id } });
  expect(headers['x-request-id']).toEqual(kept ? id : expect.stringMatching(UUID));
});

describe('what a handler throws', () => {
  test('what a handler throws becomes its answer', async () => {
    const { port, recorded } = await start({
      call: async (exchange, capability) => {
        exchange.log.apiKeyName = 'reporting';
        exchange.log.capability = capability;
        throw new CallError('AGENT_BUSY', 'try again', { cause: new Error('secret') });
      },
    });
    const { status, headers, text } = await ask(port, CALL, { method: 'POST' });
    expect(status).toBe(503);
    expect(headers['retry-after']).toBe('1');
    expect(text).toBe('{"error":{"code":"AGENT_BUSY","message":"try again"}}');
    expect(await recorded(1)).toMatchObject([
      {
        route: '/api/v1/capabilities/{name}',
        api_key_name: 'reporting',
        capability: 'get',
        error_code: 'AGENT_BUSY',
      },
    ]);
  });

  test.each(['call', 'health'] as const)('a fault of our own in %s stays in the log', async (name) => {
    const fault = (): never => {
      throw new TypeError('secret detail');
    };
    const { port, events } = await start({ [name]: fault });
    const answer = await (name === 'call' ? ask(port, CALL, { method: 'POST' }) : ask(port, '/healthz'));
    expect(answer.status).toBe(500);
    expect(code(answer.text)).toBe('GATEWAY_INTERNAL');
    expect(answer.text).not.toContain('secret');
    expect(events).toContainEqual({
      event: 'internal_error',
      request_id: answer.headers['x-request-id'],
      message: expect.stringContaining('secret detail'),
    });
  });
});

describe('a caller who leaves before the answer', () => {
  test('is noticed: the signal aborts, 499 is recorded, and a late answer goes nowhere', async () => {
    const { handlers, next } = silentCalls();
    const server = await start(handlers);
    const client = await dial(server.port);
    client.send(post('{}'));
    const exchange = await next();
    expect(server.gateway.inFlight).toBe(1);
    const aborted = new Promise<void>((resolve) => {
      exchange.signal.addEventListener('abort', () => resolve());
    });
    client.socket.destroy();
    await aborted;
    let delivered = 0;
    exchange.send(200, [], [Buffer.from('{}')], () => delivered++);
    expect(delivered).toBe(1);
    expect(server.requests()).toMatchObject([{ http_status: 499, error_code: '' }]);
    expect(server.gateway.inFlight).toBe(0);
  });

  test('ends the requests pipelined behind it too', async () => {
    const { handlers, next } = silentCalls();
    const server = await start(handlers);
    const client = await dial(server.port);
    client.send(post('{}') + post('{}'));
    await next();
    await next();
    expect(server.gateway.inFlight).toBe(2);
    client.socket.destroy();
    expect(await server.recorded(2)).toMatchObject([{ http_status: 499 }, { http_status: 499 }]);
    expect(server.gateway.inFlight).toBe(0);
  });
});
