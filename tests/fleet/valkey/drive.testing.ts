import { Agent, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

export interface Driven {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly ms: number;
  /** Since the drive began. */
  readonly atMs: number;
}

export interface Drive {
  readonly ports: readonly number[];
  readonly perSecond: number;
  readonly seconds: number;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** GETs, at even intervals and in turn to each port, whatever comes back meanwhile; a lost connection has status 0. */
export async function drive({
  ports,
  perSecond,
  seconds,
  path = '/healthz',
  headers = {},
}: Drive): Promise<Driven[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const startedAt = performance.now();
  const answers: Promise<Driven>[] = [];
  const total = perSecond * seconds;
  while (answers.length < total) {
    const due = Math.min(total, Math.floor(((performance.now() - startedAt) / 1000) * perSecond));
    while (answers.length < due) {
      answers.push(get(agent, ports[answers.length % ports.length] ?? 0, path, headers, startedAt));
    }
    await wait(1);
  }
  const all = await Promise.all(answers);
  agent.destroy();
  return all;
}

function get(
  agent: Agent,
  port: number,
  path: string,
  headers: Drive['headers'],
  begun: number,
): Promise<Driven> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const done = (status: number, retryAfter?: string): void =>
      resolve({ status, retryAfter, ms: performance.now() - startedAt, atMs: startedAt - begun });
    request({ host: '127.0.0.1', port, path, agent, headers: { ...headers } }, (response) => {
      response.resume().once('end', () => done(response.statusCode ?? 0, response.headers['retry-after']));
    })
      .once('error', () => done(0))
      .end();
  });
}

export function countOf(answers: readonly Driven[], status: number): number {
  return answers.filter((answer) => answer.status === status).length;
}

/** Milliseconds that the longest request took, or that passed between two of them, whichever is more. */
export function longestStall(answers: readonly Driven[]): number {
  const gaps = answers.map(({ atMs }, index) => atMs - (answers[index - 1]?.atMs ?? 0));
  return Math.max(...gaps, ...answers.map(({ ms }) => ms));
}
