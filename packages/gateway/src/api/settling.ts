/**
 * Whether agents have connected to a replica that has just started. Until then, a balancer that sends it calls would get
 * errors for services whose agents are still on their way.
 */
export interface Settling {
  came(service: string): void;
  /** Once true, always true: a service that comes later must not take the replica out of service. */
  readonly settled: boolean;
}

/** When no further service has come for this long, no other is about to. */
const QUIET_MS = 2000;

/** Settled at the latest `mostMs` from now. */
export function createSettling(mostMs: number, now: () => number): Settling {
  const startedAt = now();
  const services = new Set<string>();
  let newestAt: number | undefined;
  let settled = false;

  function isSettled(): boolean {
    settled ||= now() - startedAt >= mostMs || (newestAt !== undefined && now() - newestAt >= QUIET_MS);
    return settled;
  }

  return {
    came(service) {
      if (isSettled() || services.has(service)) return;
      services.add(service);
      newestAt = now();
    },
    get settled() {
      return isSettled();
    },
  };
}
