import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listenOnLoopback } from './free-port.ts';
import { createRelay, type Relay } from './relay.ts';

export type Direction = 'to_target' | 'to_client' | 'both';

/** A TCP proxy on the loopback interface that can behave like a bad network. */
export interface FaultProxy {
  readonly host: string;
  readonly port: number;
  /** How many clients are connected now. */
  connections(): number;
  /** From now on every byte takes `ms` longer in each direction; 0 ends it. */
  delay(ms: number): void;
  /** From now on each connection carries at most so much in each direction; Infinity ends it. */
  limit(bytesPerSecond: number): void;
  /** Lets nothing through while the connections stay open, as when a network silently drops packets. */
  stall(direction: Direction): void;
  /** Ends a stall; what was held back goes on its way. */
  resume(): void;
  /** What is connected now falls silent for ever; new connections work, as when a firewall forgets its state. */
  strand(): void;
  /** Resets every connection at once; new ones are accepted. */
  cut(): void;
  /** Resets every connection and stops listening. */
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly target: Socket;
  readonly toTarget: Relay;
  readonly toClient: Relay;
  stranded: boolean;
}

export async function startFaultProxy(options: {
  readonly target: { readonly host: string; readonly port: number };
  /** Default: a free one. */
  readonly port?: number;
}): Promise<FaultProxy> {
  const pairs = new Set<Pair>();
  let delayMs = 0;
  let bytesPerSecond = Infinity;
  const stalled = { toTarget: false, toClient: false };

  const apply = (pair: Pair): void => {
    pair.toTarget.set({ delayMs, bytesPerSecond, stalled: pair.stranded || stalled.toTarget });
    pair.toClient.set({ delayMs, bytesPerSecond, stalled: pair.stranded || stalled.toClient });
  };
  const applyAll = (): void => {
    for (const pair of pairs) apply(pair);
  };
  const reset = (pair: Pair): void => {
    pairs.delete(pair);
    for (const socket of [pair.client, pair.target]) {
      // A reset of a socket that is still connecting or has ended is a plain close.
      if (!socket.destroyed) socket.resetAndDestroy();
    }
    pair.toTarget.close();
    pair.toClient.close();
  };

  const server = createServer({ allowHalfOpen: true }, (client) => {
    const target = connect({ ...options.target, allowHalfOpen: true, noDelay: true });
    client.setNoDelay(true);
    const pair: Pair = {
      client,
      target,
      toTarget: createRelay(client, target),
      toClient: createRelay(target, client),
      stranded: false,
    };
    pairs.add(pair);
    apply(pair);
    for (const socket of [client, target]) {
      socket.on('error', () => reset(pair));
      socket.on('close', () => {
        if (client.destroyed && target.destroyed) reset(pair);
      });
    }
  });
  const port = await listenOnLoopback(server, options.port);

  const cut = (): void => {
    for (const pair of pairs) reset(pair);
  };
  return {
    host: '127.0.0.1',
    port,
    connections: () => pairs.size,
    delay: (ms) => {
      delayMs = ms;
      applyAll();
    },
    limit: (most) => {
      bytesPerSecond = most;
      applyAll();
    },
    stall: (direction) => {
      if (direction !== 'to_client') stalled.toTarget = true;
      if (direction !== 'to_target') stalled.toClient = true;
      applyAll();
    },
    resume: () => {
      stalled.toTarget = false;
      stalled.toClient = false;
      applyAll();
    },
    strand: () => {
      for (const pair of pairs) pair.stranded = true;
      applyAll();
    },
    cut,
    close: async () => {
      if (!server.listening) return;
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}
