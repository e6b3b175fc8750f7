import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { createMetricsRegister } from './register.ts';
import { serveMetrics } from './serve-metrics.ts';

const HERE = { host: '127.0.0.1', port: 0 };

test('asks for the values at each scrape', async () => {
  const register = await createMetricsRegister();
  let value = 1;
  register.addReading({ name: 'm', type: 'gauge', labels: [], help: 'Help.' }, () => value);
  const listener = await serveMetrics(register, HERE, 'SETTING', () => {});
  const url = `http://127.0.0.1:${listener.port}/metrics`;
  expect(await (await fetch(url)).text()).toContain('\nm 1\n');
  value = 2;
  expect(await (await fetch(url)).text()).toContain('\nm 2\n');
  await listener.close();
});

test('a value that cannot be read is an answer without its reason', async () => {
  const register = await createMetricsRegister();
  register.addReading({ name: 'm', type: 'gauge', labels: [], help: 'Help.' }, () => {
    throw new Error('secret');
  });
  const listener = await serveMetrics(register, HERE, 'SETTING', () => {});
  const answer = await fetch(`http://127.0.0.1:${listener.port}/metrics`);
  expect([answer.status, await answer.text()]).toEqual([500, 'the metrics cannot be read\n']);
  await listener.close();
});

test('closes at once, whoever is connected, and listens no longer', async () => {
  const listener = await serveMetrics(await createMetricsRegister(), HERE, 'SETTING', () => {});
  const { port } = listener;
  const silent = connect(port, '127.0.0.1').on('error', () => {});
  await once(silent, 'connect');
  const half = connect(port, '127.0.0.1').on('error', () => {});
  half.write('GET /metrics HTTP/1.1\r\n');
  await once(half, 'connect');
  const since = performance.now();
  await listener.close();
  expect(performance.now() - since).toBeLessThan(4000);
  await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow('fetch failed');
});

test('answers OpenMetrics to those who take it, where there is something to gain', async () => {
  const typeFor = async (hasExemplars: boolean, accept: string): Promise<string | undefined> => {
    const listener = await serveMetrics(await createMetricsRegister(hasExemplars), HERE, 'SETTING', () => {});
    const answer = await fetch(`http://127.0.0.1:${listener.port}/metrics`, { headers: { accept } });
    await listener.close();
    return answer.headers.get('content-type')?.split(';')[0];
  };
  const prometheus =
    'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1';
  expect(await typeFor(true, prometheus)).toBe('application/openmetrics-text');
  expect(await typeFor(false, prometheus)).toBe('text/plain');
  expect(await typeFor(true, 'text/plain')).toBe('text/plain');
  expect(await typeFor(true, 'application/openmetrics-text;q=0')).toBe('text/plain');
});
