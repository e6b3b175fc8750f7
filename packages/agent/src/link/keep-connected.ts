import { DRAIN_TIMEOUT_MS } from '@svc/protocol';
import { afterLoss, FRESH } from './back-off.ts';
import { openConnection, type Connection, type ConnectionEnd, type ConnectionOptions } from './connection.ts';

/** Holds a connection to the gateway for as long as the agent lives. */
export interface GatewayLink {
  readonly connected: boolean;
  /** No further dialling; every connection answers what it has and closes. */
  stop(): Promise<void>;
}

export interface KeepConnectedOptions extends Omit<ConnectionOptions, 'onWelcome' | 'onGoAway'> {
  readonly onConnected: (connId: string) => void;
  readonly onLost: (end: ConnectionEnd, retryInMs: number) => void;
  readonly random: () => number;
}

export function keepConnected(options: KeepConnectedOptions): GatewayLink {
  const open = new Set<Connection>();
  const welcomed = new Set<Connection>();
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
        welcomed.add(connection);
        options.onConnected(connId);
      },
      onGoAway() {
        // Make before break: the next connection is sought while this one finishes its calls.
        if (replaced || stopped) return;
        replaced = true;
        welcomed.delete(connection);
        scheduleDial(performance.now() - welcomedAt, false);
      },
    });
    open.add(connection);
    void connection.over.then((end) => {
      open.delete(connection);
      welcomed.delete(connection);
      if (stopped || replaced) return;
      options.onLost(end, scheduleDial(end.heldMs, end.refused));
    });
  }

  function scheduleDial(heldMs: number, refused: boolean): number {
    const next = afterLoss(backOff, heldMs, refused, options.random());
    backOff = next.state;
    retryTimer = setTimeout(dial, next.waitMs);
    return next.waitMs;
  }

  dial();
  return {
    get connected() {
      return welcomed.size > 0;
    },
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
