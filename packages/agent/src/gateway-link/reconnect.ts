import { DRAIN_TIMEOUT_MS } from '@svc/protocol';
import { afterGoAway, afterLoss, FRESH, type Retry } from './back-off.ts';
import { openConnection, type Connection, type ConnectionEnd, type ConnectionOptions } from './connection.ts';

/** A connection to the gateway, dialled anew whenever it is lost, for as long as the agent runs. */
export interface GatewayLink {
  /** Dials no more; every connection answers its calls in flight and closes. */
  stop(): Promise<void>;
}

export interface ReconnectOptions extends Omit<ConnectionOptions, 'onWelcome' | 'onGoAway'> {
  readonly onConnected: (connId: string) => void;
  /** `retryInMs` is undefined after a go-away of the gateway, since the next connection was dialled at that time. */
  readonly onLost: (end: ConnectionEnd, retryInMs: number | undefined) => void;
  readonly random: () => number;
}

export function openReconnectingLink(options: ReconnectOptions): GatewayLink {
  const open = new Set<Connection>();
  let backOff = FRESH;
  let stopped = false;
  let retryTimer: NodeJS.Timeout | undefined;

  function dial(): void {
    let replaced = false;
    let welcomedAt = 0;
    const connection = openConnection({
      ...options,
      onWelcome(connId) {
        welcomedAt = performance.now();
        options.onConnected(connId);
      },
      onGoAway() {
        // The next connection is dialled while this one still answers its calls, so that none is refused in between.
        if (replaced || stopped) return;
        replaced = true;
        const now = performance.now();
        dialAfter(afterGoAway(backOff, now, now - welcomedAt, options.random()));
      },
    });
    open.add(connection);
    void connection.over.then((end) => {
      open.delete(connection);
      if (stopped) return;
      const retryInMs = replaced
        ? undefined
        : dialAfter(afterLoss(backOff, { ...end, at: performance.now() }, options.random()));
      options.onLost(end, retryInMs);
    });
  }

  function dialAfter({ state, waitMs }: Retry): number {
    backOff = state;
    retryTimer = setTimeout(dial, waitMs);
    return waitMs;
  }

  dial();
  return {
    async stop() {
      stopped = true;
      clearTimeout(retryTimer);
      await Promise.all(
        [...open].map(async (connection) => {
          await connection.drain(DRAIN_TIMEOUT_MS);
          await connection.over;
        }),
      );
    },
  };
}
