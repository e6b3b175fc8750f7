/**
 * Whether the agents of a replica that has just started have come. While they come, a balancer that sent it calls would
 * get errors for those services whose agents are still on their way.
 */
export interface Settling {
  /** An agent of this service may take calls. */
  came(service: string): void;
  /** Once true, always true: a service that comes later does not take a replica out that serves the others. */
  readonly settled: boolean;
}

/** No service that came for so long: the others are not about to. */
const QUIET_MS = 2000;

/** Settled `mostMs` after now, whoever is there then. */
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
