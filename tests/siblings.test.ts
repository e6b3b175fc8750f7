import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, startService, testDatabase, type Service } from '@svc/testkit';

const WORKERS = 3;
const CAPABILITIES = `
capabilities:
  echo:
    description: Gives back its number after a moment
    sql: select :n as n from (select pg_sleep(0.02)) as moment
    params:
      n: { type: integer, required: true }
    policy: { timeout: 5s, allow_functions: [pg_sleep] }
    result:
      n: { type: integer }
  wide:
    description: Some 300 KB
    sql: select repeat('x', 1000) || n as text from generate_series(1, 300) as n
    params: {}
    policy: { timeout: 5s, max_rows: 1000, max_bytes: 10MB, allow_functions: [generate_series, repeat] }
    result:
      text: { type: string }
`;

let service: Service;
let metricsUrl: string;
beforeAll(async () => {
  service = await startService({
    database: await testDatabase(),
    capabilities: CAPABILITIES,
    gatewayEnv: {
      GATEWAY_WORKERS: String(WORKERS),
      // One link, so that most calls have to cross.
      GATEWAY_LINKS_PER_REPLICA: '1',
      GATEWAY_METRICS_ADDR: '127.0.0.1:0',
    },
  });
  const line = await service.gateway.waitForLine((text) => text.includes('"event":"metrics_listening"'));
  const record: { port?: number } = JSON.parse(line);
  metricsUrl = `http://127.0.0.1:${record.port}/metrics`;
});
afterAll(() => service.stop());

/** Over a connection of its own: the next worker's. */
async function fresh(path: string, body?: unknown): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${service.url}${path}`,
      {
        agent: false,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          authorization: `Bearer ${service.apiKeys['all']}`,
          'content-type': 'application/json',
          connection: 'close',
        },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (piece: string) => (text += piece));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function outcome(n: number): Promise<string> {
  try {
    const { status, text } = await fresh('/api/v1/capabilities/echo', { n });
    if (status !== 200) return `${status} ${text}`;
    return text === `{"rows":[{"n":${n}}],"count":1}` ? 'right' : `wrong: ${text}`;
  } catch (error) {
    return `no answer: ${String(error)}`;
  }
}

function outcomes(count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => outcome(n)));
}

async function metric(name: string): Promise<number> {
  const { text } = await ask(metricsUrl);
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.split(' ')[1]);
}

test('with one link of one agent, calls to every worker succeed', async () => {
  expect(new Set(await outcomes(60))).toEqual(new Set(['right']));
  expect(await metric('svc_gateway_sibling_calls_total')).toBe((60 * (WORKERS - 1)) / WORKERS);
});

test('descriptions, readiness and large results are the same at every worker', async () => {
  for (const path of ['/openapi.json', '/readyz', '/healthz']) {
    const answers = await Promise.all(Array.from({ length: 2 * WORKERS }, () => fresh(path)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  }
  const wide = Array.from({ length: 2 * WORKERS }, () => fresh('/api/v1/capabilities/wide', {}));
  const answers = await Promise.all(wide);
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(answers[0]?.text.length).toBeGreaterThan(300_000);
});

test('a capability that nobody offers is 404 at every worker', async () => {
  const answers = await Promise.all(
    Array.from({ length: 2 * WORKERS }, () => fresh('/api/v1/capabilities/nothing', {})),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
});
void pause;
