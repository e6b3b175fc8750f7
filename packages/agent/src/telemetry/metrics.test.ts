import { createMetricsRegister } from '@svc/edge';
import { expect, test } from 'vitest';
import type { AgentEvent } from './events.ts';
import { createAgentMetrics } from './metrics.ts';

const GATEWAY = 'ws://localhost:1/ws/agent';

function connected(id: string): AgentEvent {
  return { event: 'connected', gateway: GATEWAY, conn_id: id };
}

function lost(id?: string): AgentEvent {
  return {
    event: 'disconnected',
    gateway: GATEWAY,
    reason: 'x',
    ...(id === undefined ? {} : { conn_id: id }),
  };
}

/** `svc_agent_connected`, `svc_agent_reconnects_total`, `svc_agent_connect_failures_total`. */
test.each<readonly [string, readonly AgentEvent[], readonly [number, number, number]]>([
  ['never connected', [lost(), lost()], [0, 0, 2]],
  ['connected', [lost(), connected('a')], [1, 0, 1]],
  ['lost', [connected('a'), lost('a'), lost()], [0, 0, 1]],
  ['connected again', [connected('a'), lost('a'), connected('b')], [1, 1, 0]],
  ['replaced before the old connection ends', [connected('a'), connected('b'), lost('a')], [1, 1, 0]],
  ['both lost', [connected('a'), connected('b'), lost('a'), lost('b')], [0, 1, 0]],
])('connections: %s', async (_title, events, expected) => {
  const register = await createMetricsRegister();
  const observe = createAgentMetrics(register, {
    links: () => 2,
    linksWanted: () => 3,
    dials: () => [['failed', 4]],
    callsRunning: () => 0,
    callsQueued: () => 0,
    databasesNamed: false,
    databases: () => [],
    maxConnectionsOf: () => 1,
    logRecordsLost: () => 7,
  });
  for (const event of events) observe(event);
  const lines = (await register.text()).split('\n');
  expect(lines).toContain('svc_agent_log_records_lost_total 7');
  const values = ['connected', 'reconnects_total', 'connect_failures_total'].map((name) => {
    const prefix = `svc_agent_${name} `;
    return Number(lines.find((line) => line.startsWith(prefix))?.slice(prefix.length));
  });
  expect(values).toEqual(expected);
});
