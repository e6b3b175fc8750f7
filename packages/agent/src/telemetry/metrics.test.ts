import { createMetricsRegister } from '@svc/edge';
import { expect, test } from 'vitest';
import type { AgentEvent } from './events.ts';
import { createAgentMetrics, type AgentState } from './metrics.ts';

const STATE: AgentState = {
  links: () => ({ held: 2, wanted: 3, dials: [['failed', 4]] }),
  callsRunning: () => 0,
  callsQueued: () => 0,
  databasesNamed: false,
  databases: () => [],
  maxConnectionsOf: () => 1,
  logRecordsLost: () => 7,
};
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

const COUNTS = { own: 3, shared: 2, sharedCalls: 9, sharedResends: 1 };
const IDLE = { connections: { idle: 0, busy: 0, opening: 0, waiting: 0 }, isUp: true };

test.each([
  [
    'the only database',
    [['', { ...IDLE, transactions: COUNTS }]],
    [
      'svc_agent_transactions_total{form="own"} 3',
      'svc_agent_transactions_total{form="shared"} 2',
      'svc_agent_shared_calls_total 9',
      'svc_agent_shared_resends_total 1',
    ],
  ],
  ['the only one, of an engine that shares none', [['', IDLE]], []],
  [
    'one of several',
    [
      ['lite', IDLE],
      ['shop', { ...IDLE, transactions: COUNTS }],
    ],
    [
      'svc_agent_transactions_total{database="shop",form="own"} 3',
      'svc_agent_transactions_total{database="shop",form="shared"} 2',
      'svc_agent_shared_calls_total{database="shop"} 9',
      'svc_agent_shared_resends_total{database="shop"} 1',
    ],
  ],
] as const)('transactions of %s', async (_title, databases, expected) => {
  const register = await createMetricsRegister();
  createAgentMetrics(register, {
    ...STATE,
    databasesNamed: databases.length > 1,
    databases: () => databases,
  });
  const lines = (await register.text()).split('\n');
  expect(lines.filter((line) => /^svc_agent_(?:transactions|shared)/.test(line))).toEqual(expected);
});

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
  const observe = createAgentMetrics(register, STATE);
  for (const event of events) observe(event);
  const lines = (await register.text()).split('\n');
  expect(lines).toContain('svc_agent_log_records_lost_total 7');
  const values = ['connected', 'reconnects_total', 'connect_failures_total'].map((name) => {
    const prefix = `svc_agent_${name} `;
    return Number(lines.find((line) => line.startsWith(prefix))?.slice(prefix.length));
  });
  expect(values).toEqual(expected);
});
