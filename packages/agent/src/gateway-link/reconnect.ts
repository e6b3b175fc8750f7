import { DRAIN_TIMEOUT_MS } from '@svc/protocol';
import { afterGoAway, afterLoss, FRESH, type Wait } from './back-off.ts';
import { openConnection, type Connection, type ConnectionEnd, type ConnectionOptions } from './connection.ts';

/** Holds a connection to the gateway for as long as the agent lives. */
export interface GatewayLink {
  /** No further dialling; every connection answers what it has and closes. */
  stop(): Promise<void>;
}

export interface KeepConnectedOptions extends Omit<ConnectionOptions, 'onWelcome' | 'onGoAway'> {
  readonly onConnected: (connId: string) => void;
  /** `retryInMs` is undefined when the gateway had left, so that another connection was sought already. */
  readonly onLost: (end: ConnectionEnd, retryInMs: number | undefined) => void;
  readonly random: () => number;
}

export function keepConnected(options: KeepConnectedOptions): GatewayLink {
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
        // Make before break: the next connection is sought while this one finishes its calls.
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

  function dialAfter({ state, waitMs }: Wait): number {
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
