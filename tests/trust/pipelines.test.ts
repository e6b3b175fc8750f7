import { setTimeout as pause } from 'node:timers/promises';
import { dial, startService, testDatabase, type RawConnection, type Service } from '@svc/testkit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { recordsOf } from '../requirements/lone-gateway.testing.ts';
import { expectUnharmed } from './attack.testing.ts';

const CAPABILITIES = `
capabilities:
  echo:
    description: The number, and so many letters
    sql: select :n as n, repeat('x', :size) as pad
    params: { n: { type: integer, required: true }, size: { type: integer, required: true } }
    result: { n: { type: integer }, pad: { type: string } }
  late:
    description: The number, later
    sql: select :n as n from pg_sleep(:ms / 1000.0)
    params: { n: { type: integer, required: true }, ms: { type: integer, required: true } }
    policy: { allow_functions: [pg_sleep] }
    result: { n: { type: integer } }
`;

let service: Service;
beforeAll(async () => {
  service = await startService({ database: await testDatabase(), capabilities: CAPABILITIES });
});
afterAll(() => service.stop());

interface Ask {
  readonly kind: 'echo' | 'late' | 'health' | 'nowhere' | 'keyless' | 'ping';
  readonly n: number;
  /** Letters of an answer, or milliseconds until it comes. */
  readonly size: number;
  /** Blanks behind the body. */
  readonly blanks: number;
  readonly form: 'length' | 'chunks' | 'expect';
}

const ask: fc.Arbitrary<Ask> = fc.record({
  kind: fc.constantFrom('echo', 'echo', 'late', 'health', 'nowhere', 'keyless', 'ping'),
  n: fc.nat(1_000_000),
  size: fc.oneof({ weight: 5, arbitrary: fc.nat(60) }, { weight: 1, arbitrary: fc.nat(300_000) }),
  blanks: fc.oneof({ weight: 5, arbitrary: fc.nat(60) }, { weight: 1, arbitrary: fc.nat(200_000) }),
  form: fc.constantFrom('length', 'length', 'chunks', 'expect'),
});

const conversation = fc.record({
  asks: fc.array(ask, { minLength: 1, maxLength: 20 }),
  /** Where the bytes are cut into pieces, in parts of a thousand, and how long is waited behind each. */
  cuts: fc.array(fc.tuple(fc.nat(1000), fc.nat(4)), { maxLength: 6 }),
  end: fc.constantFrom('waits', 'waits', 'says-close', 'sends-garbage', 'resets', 'leaves'),
});

let sent = 0;

interface Due {
  readonly path: string;
  /** Absent for a GET. */
  readonly params?: unknown;
  readonly status: number;
  /** Of the body of the answer. */
  readonly part: string;
}

function dueFor({ kind, n, size }: Ask): Due {
  const calls = '/api/v1/capabilities';
  switch (kind) {
    case 'echo': {
      const part = `[{"n":${n},"pad":"${'x'.repeat(size)}"}]`;
      return { path: `${calls}/echo`, params: { n, size }, status: 200, part };
    }
    case 'late':
      return { path: `${calls}/late`, params: { n, ms: size % 40 }, status: 200, part: `[{"n":${n}}]` };
    case 'health':
      return { path: '/healthz', status: 200, part: 'ok' };
    case 'nowhere':
      return { path: '/nowhere', params: {}, status: 404, part: 'GATEWAY_NOT_FOUND' };
    case 'keyless':
      return { path: `${calls}/echo`, params: { n, size }, status: 401, part: 'GATEWAY_UNAUTHORIZED' };
    case 'ping': {
      const params = { jsonrpc: '2.0', id: n, method: 'ping' };
      return { path: '/mcp', params, status: 200, part: `"id":${n},"result":{}` };
    }
  }
}

function requestOf({ kind, blanks, form }: Ask, { path, params }: Due, id: string, close: boolean): Buffer {
  const lines = [
    `${params === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `X-Request-Id: ${id}`,
  ];
  if (kind !== 'keyless') lines.push(`X-API-Key: ${service.apiKeys['all'] ?? ''}`);
  if (close) lines.push('Connection: close');
  let body = params === undefined ? '' : `${JSON.stringify(params)}${' '.repeat(blanks)}`;
  if (params !== undefined) {
    lines.push('Content-Type: application/json');
    lines.push(form === 'chunks' ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`);
    if (form === 'chunks') body = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    if (form === 'expect') lines.push('Expect: 100-continue');
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

interface Answer {
  readonly status: number;
  readonly id: string | undefined;
  readonly isLast: boolean;
  readonly body: string;
}

/** The answers that are whole, and what is left behind them. */
function answersIn(text: string): { readonly answers: readonly Answer[]; readonly rest: string } {
  const answers: Answer[] = [];
  for (let rest = text; ;) {
    const [head] = /^HTTP\/1\.1 \d{3} [^]*?\r\n\r\n/.exec(rest) ?? [];
    if (head === undefined) return { answers, rest };
    const length = Number(/\r\nContent-Length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (rest.length < head.length + length) return { answers, rest };
    const status = Number(head.slice(9, 12));
    const id = /\r\nX-Request-Id: (\S+)/i.exec(head)?.[1];
    const isLast = /\r\nConnection: close/i.test(head);
    if (status !== 100)
      answers.push({ status, id, isLast, body: rest.slice(head.length, head.length + length) });
    rest = rest.slice(head.length + length);
  }
}

async function converse(
  connection: RawConnection,
  bytes: Buffer,
  cuts: readonly (readonly [number, number])[],
): Promise<void> {
  let from = 0;
  for (const [cut, ms] of cuts.toSorted(([a], [b]) => a - b)) {
    const to = Math.floor((bytes.length * cut) / 1000);
    connection.send(bytes.subarray(from, to));
    from = to;
    await pause(ms);
  }
  connection.send(bytes.subarray(from));
}

test(
  'whatever is pipelined and however the caller leaves, each request has its own answer and one record',
  { timeout: 120_000 },
  async () => {
    const seen = new Map<string, 'answered' | 'unknown'>();
    await fc.assert(
      fc.asyncProperty(conversation, async ({ asks, cuts, end }) => {
        const due = asks.map((each, at) => {
          const id = `r${sent++}`;
          seen.set(id, 'unknown');
          const answer = dueFor(each);
          const isClose = end === 'says-close' && at === asks.length - 1;
          // A body that nobody wants, or that nobody asked for, ends the connection behind its answer.
          const mayEnd = isClose || each.form !== 'length' || each.blanks > 65_000;
          return { ...answer, id, mayEnd, bytes: requestOf(each, answer, id, isClose) };
        });
        const garbage = end === 'sends-garbage' ? Buffer.from('no HTTP\r\n\r\n') : Buffer.alloc(0);
        const connection = await dial(service.port);
        await converse(connection, Buffer.concat([...due.map(({ bytes }) => bytes), garbage]), cuts);
        if (end === 'resets') connection.socket.resetAndDestroy();
        if (end === 'leaves') connection.socket.end();
        if (end === 'waits') {
          const isOver = (): boolean => answersIn(connection.text()).answers.at(due.length - 1) !== undefined;
          await Promise.race([connection.ended, vi.waitUntil(isOver, { timeout: 10_000, interval: 1 })]);
        } else {
          await connection.ended;
        }
        connection.socket.destroy();
        const { answers, rest } = answersIn(connection.text());
        for (const [at, { status, id, isLast, body }] of answers.entries()) {
          const wanted = due[at];
          // What is no HTTP is told so when nothing else is due.
          if (status === 400 && id !== wanted?.id && (end === 'sends-garbage' || end === 'leaves')) continue;
          expect([id, status]).toEqual([wanted?.id, wanted?.status]);
          expect(body).toContain(wanted?.part);
          if (isLast) expect(wanted?.mayEnd).toBe(true);
          seen.set(id ?? '', 'answered');
        }
        if (end !== 'waits' && end !== 'says-close') return;
        expect(rest).toBe('');
        if (answers.at(-1)?.isLast !== true) expect(answers).toHaveLength(due.length);
      }),
      { numRuns: 150 },
    );
    await expectUnharmed({ port: service.port, process: service.gateway });
    const records = new Map<unknown, number>();
    for (const { event, request_id: id, source, http_status: status } of recordsOf(service.gateway)) {
      if (event !== 'request') continue;
      records.set(id, (records.get(id) ?? 0) + 1);
      // Of a connection that was reset at once nobody knows whose it was.
      if (source === '') expect(status).toBe(499);
    }
    const wrong = [...seen].filter(([id, state]) => {
      const count = records.get(id) ?? 0;
      return state === 'answered' ? count !== 1 : count > 1;
    });
    expect(wrong).toEqual([]);
  },
);
