import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey, dial, runProcess, SVC_GATEWAY, type CreatedKey } from '@svc/testkit';
import { parseExposition, type Scrape } from '../requirements/exposition.testing.ts';
import {
  CALL,
  gatewayEnvironment,
  JSON_TYPE,
  recordsOf,
  startLoneGateway,
  type LoneGateway,
} from '../requirements/lone-gateway.testing.ts';
import { metricsPortOf } from '../requirements/metrics-ports.testing.ts';
import { allGone, childrenOf } from './workers.testing.ts';

const WORKERS = 3;
const started: LoneGateway[] = [];
let key: CreatedKey;
beforeAll(async () => {
  key = await createKey('one', '*');
});
afterAll(() => Promise.all(started.map(({ process }) => process.stop())));

async function start(env: Readonly<Record<string, string>> = {}): Promise<LoneGateway> {
  const gateway = await startLoneGateway(
    await gatewayEnvironment([key.record], {
      GATEWAY_WORKERS: String(WORKERS),
      GATEWAY_METRICS_ADDR: '127.0.0.1:0',
      ...env,
    }),
  );
  started.push(gateway);
  return gateway;
}

/** A call that gets as far as the missing agent, over a connection of its own. */
async function call(gateway: LoneGateway, apiKey = key.api_key): Promise<number> {
  const answer = await gateway.ask('POST', CALL, {
    headers: { ...JSON_TYPE, 'X-API-Key': apiKey },
    body: '{}',
  });
  return answer.status;
}

async function scrape({ process }: LoneGateway): Promise<Scrape> {
  const port = await metricsPortOf(process);
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  return parseExposition(await answer.text());
}

function valueOf(metrics: Scrape, sample: string): number {
  const name = sample.replace(/(?:_count)?(?:\{.*)?$/, '');
  return metrics.get(name)?.samples.get(sample) ?? Number.NaN;
}

function answered(metrics: Scrape): number {
  const samples = metrics.get('svc_gateway_requests_total')?.samples ?? new Map<string, number>();
  return [...samples.values()].reduce((sum, value) => sum + value, 0);
}

describe('a gateway with workers', { tags: ['setting:GATEWAY_WORKERS'] }, () => {
  let gateway: LoneGateway;
  beforeAll(async () => {
    gateway = await start();
  });

  test(
    'is one gateway: one record of its start, one replica_id, and records that name their worker',
    { tags: ['workers:log'] },
    async () => {
      const statuses: number[] = [];
      // One after the other, so that each connection meets a worker that is free.
      for (let index = 0; index < 12; index++) statuses.push(await call(gateway));
      expect(new Set(statuses)).toEqual(new Set([503]));
      const requests = await gateway.requests(12);
      expect(new Set(requests.map(({ worker }) => worker))).toEqual(new Set([0, 1, 2]));
      const records = recordsOf(gateway.process);
      expect(new Set(records.map(({ replica_id: id }) => id)).size).toBe(1);
      const listening = records.filter(({ event }) => event === 'listening');
      expect(listening).toEqual([expect.objectContaining({ port: gateway.port })]);
      expect(listening[0]).not.toHaveProperty('worker');
      expect(gateway.process.output('stderr')).toBe('');
    },
  );

  test(
    'compares a key once for all its workers, and counts for all of them',
    { tags: ['workers:keys', 'workers:metrics'] },
    async () => {
      const before = await scrape(gateway);
      for (let index = 0; index < 6; index++) await call(gateway);
      const wrong = 'svc_0123456789ab_wrong';
      for (let index = 0; index < 6; index++) expect(await call(gateway, wrong)).toBe(401);
      const after = await scrape(gateway);
      expect(answered(after) - answered(before)).toBe(12);
      // That of the key that all calls have was compared in one of them; the wrong one has no record to compare with.
      const misses = 'svc_gateway_auth_cache_misses_total';
      expect(valueOf(before, misses)).toBe(1);
      expect(valueOf(after, 'svc_gateway_bcrypt_slots')).toBe(4);
      expect(valueOf(after, 'svc_gateway_worker_restarts_total')).toBe(0);
      expect(
        valueOf(
          after,
          'svc_gateway_request_duration_seconds_count{route="/api/v1/capabilities/{name}",capability=""}',
        ),
      ).toBe(answered(after));
    },
  );

  test(
    'replaces a worker that is killed within three seconds, and refuses no connection meanwhile',
    { tags: ['workers:killed'] },
    async () => {
      const before = answered(await scrape(gateway));
      const [victim = 0] = await childrenOf(gateway.process.pid);
      process.kill(victim, 'SIGKILL');
      const killedAt = performance.now();
      const line = await gateway.process.waitForLine((text) => text.includes('"event":"worker_ended"'));
      expect(JSON.parse(line)).toMatchObject({
        level: 'warn',
        worker: expect.any(Number),
        signal: 'SIGKILL',
        code: -1,
        restart_in_ms: 100,
      });
      const ended: unknown = JSON.parse(line).worker;
      // Those that come meanwhile are the other workers'; then it serves again.
      let calls = 0;
      const seen = (): boolean =>
        recordsOf(gateway.process)
          .slice(recordsOf(gateway.process).findIndex(({ event }) => event === 'worker_ended'))
          .some((record) => record['event'] === 'request' && record['worker'] === ended);
      while (!seen()) {
        expect(await call(gateway)).toBe(503);
        calls++;
        expect(performance.now() - killedAt).toBeLessThan(5 * 3000);
      }
      const after = await scrape(gateway);
      expect(answered(after)).toBe(before + calls);
      expect(valueOf(after, 'svc_gateway_worker_restarts_total')).toBe(1);
      expect(await childrenOf(gateway.process.pid)).toHaveLength(WORKERS);
    },
  );

  test(
    'ends by one signal to all of its processes, with what is under way answered',
    { tags: ['workers:shutdown'] },
    async () => {
      const connection = await dial(gateway.port);
      connection.send(
        `POST ${CALL} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key.api_key}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n`,
      );
      await connection.until(/100 Continue/);
      const workers = await childrenOf(gateway.process.pid);
      for (const pid of [...workers, gateway.process.pid]) process.kill(pid, 'SIGTERM');
      await gateway.process.waitForLine((text) => text.includes('"event":"shutting_down"'));
      connection.send('{}');
      expect(await connection.ended).toMatch(/HTTP\/1\.1 503 [^]*GATEWAY_AGENT_OFFLINE/);
      expect(await gateway.process.exited).toEqual({ code: 0, signal: null });
      await allGone(workers, 1000);
      const ends = recordsOf(gateway.process).filter(({ event }) => event === 'shutting_down');
      expect(ends).toEqual([expect.objectContaining({ signal: 'SIGTERM', in_flight: 1 })]);
      expect(recordsOf(gateway.process).filter(({ event }) => event === 'worker_ended')).toHaveLength(1);
    },
  );
});

test(
  'workers whose primary is killed answer what they have, accept no more, and end within five seconds',
  { tags: ['workers:primary-killed'] },
  async () => {
    const gateway = await start();
    const connection = await dial(gateway.port);
    connection.send(
      `POST ${CALL} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key.api_key}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n`,
    );
    await connection.until(/100 Continue/);
    // Those that never send their bodies keep no worker.
    const silent = await Promise.all(Array.from({ length: WORKERS }, () => dial(gateway.port)));
    for (const caller of silent) {
      caller.send(
        `POST ${CALL} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key.api_key}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n`,
      );
    }
    await Promise.all(silent.map((caller) => caller.until(/100 Continue/)));
    const workers = await childrenOf(gateway.process.pid);
    expect(workers).toHaveLength(WORKERS);
    gateway.process.signal('SIGKILL');
    await gateway.process.exited;
    await expect(dial(gateway.port)).rejects.toThrow('ECONNREFUSED');
    connection.send('{}');
    expect(await connection.ended).toMatch(/HTTP\/1\.1 503 [^]*GATEWAY_AGENT_OFFLINE/);
    await allGone(workers, 5000);
  },
);

test('a start that fails says so once, and leaves no process', { tags: ['workers:start'] }, async () => {
  const taken = await start();
  const env = await gatewayEnvironment([key.record], {
    GATEWAY_WORKERS: '2',
    GATEWAY_ADDR: `127.0.0.1:${taken.port}`,
  });
  const { code, stderr } = await runProcess(SVC_GATEWAY, [], { env });
  expect(code).toBe(1);
  expect(stderr).toBe(
    'svc-gateway: cannot start: GATEWAY_ADDR: another process listens on this address; choose another, or port 0 for any free one\n',
  );
  const faulty = await runProcess(SVC_GATEWAY, [], { env: { ...env, GATEWAY_LOG_LEVEL: 'loud' } });
  expect(faulty.code).toBe(2);
  expect(faulty.stderr.match(/GATEWAY_LOG_LEVEL/g)).toHaveLength(1);
});
