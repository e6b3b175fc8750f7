import { afterEach, expect, test } from 'vitest';
import { createHealth, createReady } from './health.ts';
import { ask, startServer, type StartedServer } from '../http/server-by-hand.testing.ts';

let server: StartedServer | undefined;
afterEach(() => server?.close());

test.each([
  { agent: false, leaving: false, health: 200, ready: 503 },
  { agent: true, leaving: false, health: 200, ready: 200 },
  { agent: true, leaving: true, health: 503, ready: 503 },
  { agent: false, leaving: true, health: 503, ready: 503 },
])('agent connected: $agent, shutting down: $leaving', async ({ agent, leaving, health, ready }) => {
  const state = { agentConnected: () => agent, shuttingDown: () => leaving, revocations: undefined };
  server = await startServer({ health: createHealth(state), ready: createReady(state) });
  const alive = await ask(server.port, '/healthz');
  expect(alive.status).toBe(health);
  expect(JSON.parse(alive.text)).toEqual({ ok: !leaving, agent_connected: agent });
  const able = await ask(server.port, '/readyz');
  expect(able.status).toBe(ready);
  expect(JSON.parse(able.text)).toEqual({ ok: agent && !leaving, agent_connected: agent });
});

test.each([true, false])('which keys are revoked is known: %s', async (known) => {
  const state = { agentConnected: () => true, shuttingDown: () => false, revocations: { known } };
  server = await startServer({ health: createHealth(state), ready: createReady(state) });
  expect((await ask(server.port, '/healthz')).status).toBe(200);
  const able = await ask(server.port, '/readyz');
  expect(able.status).toBe(known ? 200 : 503);
  expect(JSON.parse(able.text)).toEqual({ ok: known, agent_connected: true });
});
