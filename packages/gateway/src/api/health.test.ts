import { afterEach, expect, test } from 'vitest';
import { createHealth, createReady } from './health.ts';
import { ask, startServer, type StartedServer } from '../http/server-by-hand.testing.ts';

let server: StartedServer | undefined;
afterEach(() => server?.close());

test.each([
  { agent: false, settled: true, leaving: false, health: 200, ready: 503 },
  { agent: true, settled: true, leaving: false, health: 200, ready: 200 },
  { agent: true, settled: false, leaving: false, health: 200, ready: 503 },
  { agent: true, settled: true, leaving: true, health: 503, ready: 503 },
  { agent: false, settled: true, leaving: true, health: 503, ready: 503 },
])('agent connected: $agent, settled: $settled, shutting down: $leaving', async (row) => {
  const { agent, settled, leaving, health, ready } = row;
  const state = { agentConnected: () => agent, settled: () => settled, shuttingDown: () => leaving };
  server = await startServer({ health: createHealth(state), ready: createReady(state) });
  const alive = await ask(server.port, '/healthz');
  expect(alive.status).toBe(health);
  expect(JSON.parse(alive.text)).toEqual({ ok: !leaving, agent_connected: agent });
  const able = await ask(server.port, '/readyz');
  expect(able.status).toBe(ready);
  expect(JSON.parse(able.text)).toEqual({ ok: ready === 200, agent_connected: agent });
});

test.each([true, false])('databases that are asked for are ready: %s', async (databases) => {
  const state = {
    agentConnected: () => true,
    databasesReady: () => databases,
    settled: () => true,
    shuttingDown: () => false,
  };
  server = await startServer({ health: createHealth(state), ready: createReady(state) });
  expect((await ask(server.port, '/healthz')).status).toBe(200);
  const able = await ask(server.port, '/readyz');
  expect(able.status).toBe(databases ? 200 : 503);
  expect(JSON.parse(able.text)).toEqual({ ok: databases, agent_connected: true, databases_ready: databases });
});
