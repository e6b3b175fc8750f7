import { afterAll, beforeAll, expect, test } from 'vitest';
import { nextRecord, startService, testDatabase, type Service } from '@svc/testkit';
import { recordsOf } from '../requirements/lone-gateway.testing.ts';
import { allGone, childrenOf } from './workers.testing.ts';

const CAPABILITIES = `
capabilities:
  nap:
    description: Answers after a while
    sql: select :seconds as slept from pg_sleep(:seconds::float8)
    params: { seconds: { type: number, required: true } }
    policy: { timeout: 1m, allow_functions: [pg_sleep] }
    result: { slept: { type: number } }
  repeated:
    description: One row of so many bytes
    sql: select repeat('x', :bytes) as text
    params: { bytes: { type: integer, required: true } }
    policy: { timeout: 30s, max_bytes: 30MB, allow_functions: [repeat] }
    result: { text: { type: string } }
`;

let service: Service;
beforeAll(async () => {
  service = await startService({
    database: await testDatabase(),
    capabilities: CAPABILITIES,
    gatewayEnv: { GATEWAY_WORKERS: '3' },
  });
});
afterAll(() => service.stop());

/** Over a connection of its own, so that another worker has it than the one before. */
async function post(body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${service.apiKeys['all'] ?? ''}`,
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      Connection: 'close',
      ...headers,
    },
    body: JSON.stringify(body),
  });
}

function napRecords(): readonly Readonly<Record<string, unknown>>[] {
  return recordsOf(service.gateway).filter(
    (record) => record['event'] === 'request' && record['mcp_method'] === 'tools/call',
  );
}

test(
  'an MCP call is cancelled over whatever connection, and not where two are of its id',
  { tags: ['workers:cancel'] },
  async () => {
    const opened = await post({
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
    });
    await opened.text();
    const session = { 'Mcp-Session-Id': opened.headers.get('mcp-session-id') ?? '' };
    const call = async (id: number, seconds: number): Promise<string> => {
      const params = { name: 'nap', arguments: { seconds } };
      return (await post({ jsonrpc: '2.0', id, method: 'tools/call', params }, session)).text();
    };
    const cancel = async (requestId: number): Promise<void> => {
      const sent = await post(
        { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } },
        session,
      );
      expect(sent.status).toBe(202);
    };
    for (const id of [1, 2, 3]) {
      const startedAt = performance.now();
      let ended = false;
      const napping = call(id, 30).finally(() => (ended = true));
      // Each time from another worker's connection than the call's, or from that one: it makes no difference.
      while (!ended) {
        await cancel(id);
        await new Promise((resolve) => setTimeout(resolve, 20));
        expect(performance.now() - startedAt).toBeLessThan(10_000);
      }
      await napping;
    }
    const twice = [call(9, 1), call(9, 1)];
    await new Promise((resolve) => setTimeout(resolve, 300));
    await cancel(9);
    for (const answer of await Promise.all(twice)) expect(answer).toContain('"slept":1');
    await expect
      .poll(() =>
        napRecords()
          .map(({ http_status: status }) => Number(status))
          .toSorted((a, b) => a - b),
      )
      .toEqual([200, 200, 499, 499, 499]);
  },
);

test('large results of all workers together are bounded, and each comes whole', async () => {
  const bytes = 20 * 1024 * 1024;
  const answers = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const { status, text } = await service.call('repeated', { bytes });
      return [status, text.length > bytes];
    }),
  );
  expect(answers).toEqual(answers.map(() => [200, true]));
});

test('a worker that stands still is replaced', { tags: ['workers:hung'], timeout: 60_000 }, async () => {
  const [hung = 0] = await childrenOf(service.gateway.pid);
  const ended = nextRecord(service.gateway, 'worker_ended');
  process.kill(hung, 'SIGSTOP');
  expect(JSON.parse(await ended)).toMatchObject({ signal: 'SIGKILL', restart_in_ms: 100 });
  await allGone([hung], 1000);
  await expect.poll(async () => (await childrenOf(service.gateway.pid)).length).toBe(3);
});
