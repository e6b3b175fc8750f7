import { Agent, request } from 'node:http';
import { quantile } from '../report/statistics.ts';

export interface PacedOrder {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodies: readonly string[];
  readonly connections: number;
  readonly perSecond: number;
  readonly seconds: number;
}

export interface PacedResult {
  readonly calls: number;
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
  const { connections, perSecond, seconds, bodies } = order;
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
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
      if (!(await post(agent, order, bodies[call % bodies.length] ?? ''))) failed++;
      latencies.push(performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  agent.destroy();
  const calls = latencies.length;
  // The last is due before the time is up.
  const elapsedSeconds = Math.max(seconds, (performance.now() - startedAt) / 1000);
  return { calls, failed, callsPerSecond: calls / elapsedSeconds, p99Ms: quantile(latencies, 0.99) };
}

/** Whether the whole answer came, with 200. */
async function post(agent: Agent, { port, path, headers }: PacedOrder, body: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const sent = request({ agent, host: '127.0.0.1', port, path, method: 'POST', headers }, (response) => {
      response
        .once('close', () => resolve(response.complete && response.statusCode === 200))
        .on('error', () => {});
      response.resume();
    });
    sent.once('error', () => resolve(false));
    sent.end(body);
  });
}

process.on('message', (order: PacedOrder) => {
  void callAtRate(order).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
