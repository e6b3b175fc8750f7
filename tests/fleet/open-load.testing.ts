import { connect, type Socket } from 'node:net';

export const LOAD_SQL = `
  create table item (id int primary key, label text not null);
  insert into item select i, 'item ' || i from generate_series(1, 1000) i;
`;

export const LOAD_CAPABILITIES = `
capabilities:
  get_item:
    description: One item
    sql: select id, label from item where id = :id
    params: { id: { type: integer, required: true } }
    result: { id: { type: integer }, label: { type: string } }
`;

export interface LoadOptions {
  readonly host?: string;
  readonly port: number;
  readonly apiKey: string;
  readonly perSecond: number;
  /** How many calls to send; default until it is stopped, for two minutes at most. */
  readonly calls?: number;
}

export interface LoadReport {
  readonly sent: number;
  readonly right: number;
  /** How often each failure was seen. */
  readonly failures: Readonly<Record<string, number>>;
  /** Connections lost when a part of the answer had come: nobody can send such a call again unasked. */
  readonly begun: number;
  /** Calls that left more than 50 ms after their time. */
  readonly late: number;
  /** Of the calls that were right, in ms; from when a call was due. */
  readonly p50: number;
  readonly p99: number;
  readonly slowest: number;
}

export interface OpenLoad {
  /** Of what has ended so far. */
  report(): LoadReport;
  /** Resolves when all of `calls` have ended. */
  readonly done: Promise<LoadReport>;
  /** Sends no more, and resolves when every call has ended. */
  stop(): Promise<LoadReport>;
}

/** Longer than any call of these tests may take. */
const GIVE_UP_MS = 40_000;
const LATE_MS = 50;
const TICK_MS = 2;
const MAX_CALLS = 120_000;
/** Beyond this a call fails unsent: the machine has only so many ports. */
const MAX_IN_FLIGHT = 4000;

/**
 * Calls at a fixed rate, whatever becomes of the answers: the time of a call counts from when it was due. Each call knows
 * the row that it must get, byte for byte.
 */
export function startOpenLoad({
  host = '127.0.0.1',
  port,
  apiKey,
  perSecond,
  calls = MAX_CALLS,
}: LoadOptions): OpenLoad {
  const idle: Connection[] = [];
  const all = new Set<Connection>();
  const failures: Record<string, number> = {};
  const latencies: number[] = [];
  const startedAt = performance.now();
  let sent = 0;
  let begun = 0;
  let late = 0;
  let inFlight = 0;
  let last = calls;
  let finish: (report: LoadReport) => void = () => {};
  const done = new Promise<LoadReport>((resolve) => (finish = resolve));

  const timer = setInterval(() => {
    const now = performance.now();
    while (sent < last && startedAt + (sent * 1000) / perSecond <= now) send(now);
    endWhenAllHave();
  }, TICK_MS);

  function endWhenAllHave(): void {
    if (sent < last || inFlight > 0) return;
    clearInterval(timer);
    for (const connection of all) connection.close();
    finish(report());
  }

  function send(now: number): void {
    const dueAt = startedAt + (sent * 1000) / perSecond;
    const id = (sent % 1000) + 1;
    sent += 1;
    if (now - dueAt > LATE_MS) late += 1;
    if (inFlight >= MAX_IN_FLIGHT) {
      fail('not sent: too many calls are under way');
      return;
    }
    inFlight += 1;
    const connection = idle.pop() ?? open();
    const body = `{"id":${id}}`;
    const expected = `{"rows":[{"id":${id},"label":"item ${id}"}],"count":1}`;
    connection.post(body, (outcome) => {
      inFlight -= 1;
      if (outcome.kind === 'lost') {
        if (outcome.begun) begun += 1;
        else fail(`no answer: ${outcome.reason}`);
      } else if (outcome.status === 200 && outcome.body === expected)
        latencies.push(performance.now() - dueAt);
      else if (outcome.status === 200) fail(`wrong: ${outcome.body.slice(0, 200)}`);
      else fail(`${outcome.status} ${/"code":"(\w+)"/.exec(outcome.body)?.[1] ?? outcome.body.slice(0, 80)}`);
      if (outcome.kind === 'answer' && outcome.keepsOpen) idle.push(connection);
    });
  }

  function fail(what: string): void {
    failures[what] = (failures[what] ?? 0) + 1;
  }

  function open(): Connection {
    const connection = createConnection({ host, port, apiKey }, () => {
      all.delete(connection);
      const index = idle.indexOf(connection);
      if (index >= 0) idle.splice(index, 1);
    });
    all.add(connection);
    return connection;
  }

  function report(): LoadReport {
    const sorted = latencies.toSorted((a, b) => a - b);
    const at = (share: number): number =>
      Math.round((sorted[Math.floor(sorted.length * share)] ?? 0) * 10) / 10;
    return {
      sent,
      right: latencies.length,
      failures: { ...failures },
      begun,
      late,
      p50: at(0.5),
      p99: at(0.99),
      slowest: Math.round(sorted.at(-1) ?? 0),
    };
  }

  return {
    report,
    done,
    stop() {
      last = Math.min(last, sent);
      endWhenAllHave();
      return done;
    },
  };
}

type Outcome =
  | { readonly kind: 'answer'; readonly status: number; readonly body: string; readonly keepsOpen: boolean }
  | { readonly kind: 'lost'; readonly begun: boolean; readonly reason: string };

interface Connection {
  /** One at a time. */
  post(body: string, settle: (outcome: Outcome) => void): void;
  close(): void;
}

/** One kept HTTP connection, as a client library has it, at a fraction of its cost. */
function createConnection(
  { host, port, apiKey }: { readonly host: string; readonly port: number; readonly apiKey: string },
  onClose: () => void,
): Connection {
  const head =
    `POST /api/v1/capabilities/get_item HTTP/1.1\r\nHost: gateways\r\nX-API-Key: ${apiKey}\r\n` +
    'Content-Type: application/json\r\nContent-Length: ';
  const socket: Socket = connect({ host, port, noDelay: true });
  let text = '';
  let reason = 'the connection was closed';
  let settle: ((outcome: Outcome) => void) | undefined;
  let timer: NodeJS.Timeout | undefined;

  function end(outcome: Outcome): void {
    clearTimeout(timer);
    text = '';
    const ended = settle;
    settle = undefined;
    ended?.(outcome);
  }

  socket.setEncoding('latin1');
  socket.on('data', (piece: string) => {
    text += piece;
    const answer = wholeAnswer(text);
    if (answer === undefined) return;
    if (!answer.keepsOpen) socket.end();
    end(answer);
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    reason = error.code ?? error.message;
  });
  // The other side ends a connection that it does not want any more: nothing may be sent over it.
  socket.on('end', () => socket.destroy());
  socket.on('close', () => {
    onClose();
    end({ kind: 'lost', begun: text !== '', reason });
  });
  return {
    post(body, settled) {
      settle = settled;
      timer = setTimeout(() => {
        reason = `none within ${GIVE_UP_MS} ms`;
        socket.destroy();
      }, GIVE_UP_MS);
      socket.write(`${head}${body.length}\r\n\r\n${body}`);
    },
    close: () => void socket.destroy(),
  };
}

function wholeAnswer(text: string): Extract<Outcome, { kind: 'answer' }> | undefined {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const head = text.slice(0, headEnd);
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  const body = text.slice(headEnd + 4);
  const isWhole = length === undefined ? body.endsWith('0\r\n\r\n') : body.length >= Number(length);
  if (!isWhole) return undefined;
  return {
    kind: 'answer',
    status: Number(head.slice(9, 12)),
    body: length === undefined ? unchunked(body) : body,
    keepsOpen: !/^connection: *close/im.test(head),
  };
}

function unchunked(body: string): string {
  let text = '';
  for (let at = 0; ;) {
    const lineEnd = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.slice(at, lineEnd), 16);
    if (!(size > 0)) return text;
    text += body.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
  }
}
