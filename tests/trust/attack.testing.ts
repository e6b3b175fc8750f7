import { dial } from '@svc/testkit';
import { expect } from 'vitest';
import { askOnce, recordsOf } from '../requirements/lone-gateway.testing.ts';

/** What is known of the gateway that is attacked. */
interface Target {
  readonly port: number;
  readonly process: Parameters<typeof recordsOf>[0];
}

/**
 * Sends bytes on a connection of their own and says how it ended, as `<status> <code>` for each answer, in order,
 * and ` open` behind them when the gateway has not closed within `withinMs` milliseconds.
 */
export async function outcomeOf(port: number, bytes: string | Uint8Array, withinMs = 1500): Promise<string> {
  const connection = await dial(port);
  connection.send(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<true>((resolve) => {
    timer = setTimeout(() => resolve(true), withinMs);
  });
  const open = (await Promise.race([connection.ended, late])) === true ? ['open'] : [];
  clearTimeout(timer);
  connection.socket.destroy();
  return [...answersIn(connection.text()), ...open].join(' | ');
}

/** Every answer in what arrived; throws when something else is between them. */
export function answersIn(text: string): readonly string[] {
  const answers: string[] = [];
  for (let rest = text; rest !== '';) {
    const [head, status = ''] = /^HTTP\/1\.1 (\d{3}) [^]*?\r\n\r\n/.exec(rest) ?? [];
    if (head === undefined) throw new Error(`not an answer: ${JSON.stringify(rest.slice(0, 200))}`);
    const length = Number(/\r\ncontent-length: (\d+)\r\n/i.exec(head)?.[1] ?? 0);
    const body = rest.slice(head.length, head.length + length);
    const [, code] = /^\{"error":\{"code":"([A-Z_]+)"/.exec(body) ?? [];
    answers.push(code === undefined ? status : `${status} ${code}`);
    rest = rest.slice(head.length + length);
  }
  return answers;
}

/** The same process still serves, and found no fault of its own in all that was sent to it. */
export async function expectUnharmed({ port, process }: Target): Promise<void> {
  // The log is gathered for 100 ms at most: this record is behind all others.
  const last = await askOnce(port, 'GET', '/healthz', { headers: { 'X-Forwarded-For': '10.255.255.255' } });
  await process.waitForLine((line) => line.includes(last.header('x-request-id') ?? 'none'));
  const exited = await Promise.race([process.exited, Promise.resolve('no')]);
  const bad = recordsOf(process).filter(
    (record) => record['event'] === 'internal_error' || record['http_status'] === 500,
  );
  expect({ exited, bad, stderr: process.output('stderr') }).toEqual({ exited: 'no', bad: [], stderr: '' });
}
