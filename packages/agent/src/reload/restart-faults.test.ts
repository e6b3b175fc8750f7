import { readTraces } from '@svc/edge';
import { expect, test } from 'vitest';
import type { AgentConfig } from '../config/model.ts';
import { configOf } from './config.fixture.ts';
import { restartFaults } from './reloader.ts';

const { config: TRACES } = readTraces({ env: {}, readFile: String, serviceName: 'x' });
if (TRACES === undefined) throw new Error('the defaults are faulty');
const before = configOf();
const changed = (changes: Partial<AgentConfig>): readonly string[] =>
  restartFaults(before, { ...before, ...changes }).map(({ path }) => path);

test('what a running agent can take up is no fault', () => {
  expect(
    changed({
      service: { title: 'Other', version: '2', description: 'other' },
      runtime: {
        maxConcurrentRequests: 1,
        queueSize: 0,
        workers: 1,
        requireAllDatabases: true,
        reverifyMs: 1000,
      },
      databases: { '': { driver: 'other', maxConnections: 9, requireReadonlyAccount: true } },
    }),
  ).toEqual([]);
});

test('each of the others is, by its path in the file', () => {
  const { gateway } = before;
  const cases: readonly (readonly [string, Partial<AgentConfig>])[] = [
    ['service.id', { serviceId: 'other' }],
    [
      'databases',
      { databases: { shop: { driver: 'postgres', maxConnections: 2, requireReadonlyAccount: false } } },
    ],
    ['runtime.workers', { runtime: { ...before.runtime, workers: 2 } }],
    ['gateway.url', { gateway: { ...gateway, urls: [...gateway.urls, 'wss://other/ws/agent'] } }],
    ['gateway.max_links', { gateway: { ...gateway, maxLinks: 1 } }],
    ['gateway.resolve_interval', { gateway: { ...gateway, resolveIntervalMs: 1 } }],
    ['gateway.agent_private_key', { gateway: { ...gateway, privateKeySeed: new Uint8Array(32).fill(1) } }],
    ['gateway.ca_file', { gateway: { ...gateway, ca: 'pem' } }],
    ['identity', { identity: { trust: 'gateway', acceptsKeys: true, issuers: [], issuerPositions: [] } }],
    ['logging', { logging: { ...before.logging, maxFiles: 3 } }],
    ['telemetry', { traces: TRACES }],
    ['metrics.addr', { metricsListen: { host: '127.0.0.1', port: 1 } }],
  ];
  expect(cases.map(([, changes]) => changed(changes))).toEqual(cases.map(([path]) => [path]));
});

test('a renewed header for the collector is no difference', () => {
  const renewed = { ...TRACES, headers: { authorization: 'other' } };
  expect(restartFaults({ ...before, traces: TRACES }, { ...before, traces: renewed })).toEqual([]);
});

test('where issuers stand in the file is no difference', () => {
  const identity = { trust: 'token', acceptsKeys: false, issuers: [] } as const;
  const at = (line: number): AgentConfig => ({
    ...before,
    identity: { ...identity, issuerPositions: [{ line, column: 1 }] },
  });
  expect(restartFaults(at(1), at(2))).toEqual([]);
});
