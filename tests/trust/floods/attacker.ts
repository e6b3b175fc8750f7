import { once } from 'node:events';
import { answersTo, dialAll } from './connections.ts';

/** What the process of an attacker is to do, over plain connections to the loopback address. */
export interface Attack {
  readonly port: number;
  /**
   * `pipelined`: `depth` requests at once, and the next when all are answered. `unread`: as many as the gateway takes,
   * and no answer is read. `each`: a connection for each request, closed when something is answered.
   * `held`: the same, but all are kept. `paced`: `depth` requests a second on connections that are kept, however long
   * the answers take.
   */
  readonly way: 'pipelined' | 'unread' | 'each' | 'held' | 'paced';
  /** Latin-1; each `%` becomes eight digits that were not there before. */
  readonly request: string;
  readonly depth: number;
  /** At once. */
  readonly connections: number;
  readonly seconds: number;
}

/** What it cost the attacker. */
export interface Spent {
  readonly requests: number;
  /** As they go over a line: what was written, and what TCP itself sends for a connection. */
  readonly bytes: number;
  readonly cpuMicroseconds: number;
}

type Sent = Omit<Spent, 'cpuMicroseconds'>;

/** SYN, its acknowledgement and FIN, by IPv4 with timestamps. */
const CONNECTION_BYTES = 60 + 52 + 52;
const WRITE_BYTES = 65_536;

const WAYS: Readonly<Record<Attack['way'], (attack: Attack, until: number) => Promise<Sent>>> = {
  async pipelined({ port, request, depth, connections }, until) {
    const sent = { requests: 0, bytes: 0 };
    await onLanes(connections, until, async () => {
      const [socket] = await dialAll(port, 1, '');
      sent.bytes += CONNECTION_BYTES;
      let open = true;
      while (open && performance.now() < until && socket !== undefined) {
        const requests = Array.from({ length: depth }, () => make(request)).join('');
        sent.requests += depth;
        sent.bytes += requests.length;
        open = await answersTo(socket, requests, depth);
      }
      socket?.destroy();
    });
    return sent;
  },
  async unread({ port, request, connections }, until) {
    const requests = Array.from({ length: Math.ceil(WRITE_BYTES / make(request).length) }, () =>
      make(request),
    );
    const chunk = requests.join('');
    const sockets = await dialAll(port, connections, '', { reads: false });
    for (const socket of sockets) {
      const push = (): void => {
        while (!socket.destroyed && socket.write(chunk, 'latin1'));
        socket.once('drain', push);
      };
      push();
    }
    await pause(until - performance.now());
    // What waits in this process was not sent.
    const written = sockets.reduce((sum, socket) => sum + socket.bytesWritten - socket.writableLength, 0);
    const bytes = written + connections * CONNECTION_BYTES;
    return { requests: Math.floor((written * requests.length) / chunk.length), bytes };
  },
  async each({ port, request, connections }, until) {
    const sent = { requests: 0, bytes: 0 };
    await onLanes(connections, until, async () => {
      const one = make(request);
      const [socket] = await dialAll(port, 1, one);
      sent.requests++;
      sent.bytes += one.length + CONNECTION_BYTES;
      if (socket === undefined || socket.destroyed) return;
      socket.once('data', () => socket.destroy());
      await once(socket, 'close');
    });
    return sent;
  },
  async held({ port, request, connections }, until) {
    let bytes = connections * CONNECTION_BYTES;
    await dialAll(port, connections, () => {
      const one = make(request);
      bytes += one.length;
      return one;
    });
    await pause(until - performance.now());
    return { requests: connections, bytes };
  },
  async paced({ port, request, depth, connections }, until) {
    const sockets = await dialAll(port, connections, '');
    const sent = { requests: 0, bytes: connections * CONNECTION_BYTES };
    const startedAt = performance.now();
    for (let now = startedAt; now < until; now = performance.now()) {
      const due = ((now - startedAt) / 1000) * depth;
      for (; sent.requests < due; sent.requests++) {
        const one = make(request);
        sent.bytes += one.length;
        const lane = sent.requests % connections;
        if (sockets[lane]?.destroyed === true) sockets.splice(lane, 1, ...(await dialAll(port, 1, '')));
        sockets[lane]?.write(one, 'latin1');
      }
      await pause(1);
    }
    return sent;
  },
};

/** That many of `lane` side by side, each begun again until the time has come. */
async function onLanes(count: number, until: number, lane: () => Promise<void>): Promise<void> {
  const one = async (): Promise<void> => {
    while (performance.now() < until) await lane();
  };
  await Promise.all(Array.from({ length: count }, one));
}

let made = 0;
function make(request: string): string {
  return request.replaceAll('%', () => String(++made).padStart(8, '0'));
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

process.once('message', (attack: Attack) => {
  void (async () => {
    const before = process.cpuUsage();
    const sent = await WAYS[attack.way](attack, performance.now() + attack.seconds * 1000);
    const { user, system } = process.cpuUsage(before);
    const spent: Spent = { ...sent, cpuMicroseconds: user + system };
    process.send?.(spent);
    // Until then everything stays open.
    process.once('disconnect', () => process.exit());
  })();
});
process.send?.('ready');
