import { Agent, request, type RequestOptions } from 'node:http';
import type { Load } from '../load/wrk.ts';
import { quantile } from '../report/statistics.ts';
import { answerOrders } from './child.ts';

export interface PacedOrder extends Load {
  readonly perSecond: number;
  readonly seconds: number;
}

export interface PacedResult {
  /** Not answered with 200. */
  readonly failed: number;
  readonly callsPerSecond: number;
  readonly p99Ms: number;
}

/**
 * Calls at a fixed rate, whether answers come or not: when a call has to wait for a free connection, the wait counts.
 * What the timer of this process is late by does not.
 */
async function callAtRate(order: PacedOrder): Promise<PacedResult> {
  const { url, path, headers, connections, perSecond, seconds, bodies } = order;
  const { hostname: host, port } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const options = { agent, host, port, path, method: 'POST', headers };
  const latencies: number[] = [];
  let failed = 0;
  let next = 0;
  const startedAt = performance.now();
  const worker = async (): Promise<void> => {
    for (let call = next++; call < perSecond * seconds; call = next++) {
      const dueAt = startedAt + (call * 1000) / perSecond;
      const early = dueAt - performance.now();
      if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
      const from = early > 0 ? performance.now() : dueAt;
      if (!(await post(options, bodies[call % bodies.length] ?? ''))) failed++;
      latencies.push(performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  agent.destroy();
  // The last is due before the time is up.
  const elapsedSeconds = Math.max(seconds, (performance.now() - startedAt) / 1000);
  return { failed, callsPerSecond: latencies.length / elapsedSeconds, p99Ms: quantile(latencies, 0.99) };
}

/** Whether the whole answer came, with 200. */
async function post(options: RequestOptions, body: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const sent = request(options, (response) => {
      response
        .once('close', () => resolve(response.complete && response.statusCode === 200))
        .on('error', () => {});
      response.resume();
    });
    sent.once('error', () => resolve(false));
    sent.end(body);
  });
}

answerOrders(callAtRate);
