import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { DRAIN_TIMEOUT_MS, namesReplicas, normalizeAudience, urlOfReplica } from '@svc/protocol';
import type { HandleCall, LinkLoad } from './call-session.ts';
import {
  openConnection,
  type Connection,
  type ConnectionEnd,
  type ConnectionOptions,
  type Welcomed,
} from './connection.ts';
import type { AgentIdentity } from './handshake.ts';
import { createLinkKeeper, type LinksShort } from './link-keeper.ts';
import type { Target } from './targets.ts';

/** The links to one gateway, however many replicas it has; each is dialled anew when lost, for as long as the agent runs. */
export interface GatewayLinks {
  readonly held: number;
  readonly wanted: number;
  /** Makes links with another offer take the place of those that are there, which end once their calls are answered. */
  renew(offer: LinkOffer): Renewal;
  /** The databases of the agent may be in other states than the gateways were told. */
  databasesChanged(): void;
  /** Dials no more; every connection answers its calls in flight and closes. */
  stop(): Promise<void>;
}

/** What a link has to offer: what the agent signs of it, and what handles its calls. */
export interface LinkOffer extends Pick<AgentIdentity, 'manifestSha256' | 'maxInflight'> {
  readonly handle: HandleCall;
}

export interface Renewal {
  /** Resolves when all links have the offer, or a newer one, or when the time is up; counts those that do and do not. */
  renewed(withinMs: number): Promise<{ readonly replaced: number; readonly waiting: number }>;
  /** Resolves when no connection with an earlier offer is left. */
  readonly over: Promise<void>;
}

/** What came of dialling: a link, or why there is none. */
export const DIAL_OUTCOMES = ['connected', 'duplicate', 'full', 'refused', 'throttled', 'failed'] as const;
export type DialOutcome = (typeof DIAL_OUTCOMES)[number];

export interface GatewayLinksOptions extends Pick<
  ConnectionOptions,
  'ca' | 'findProxy' | 'handle' | 'databases'
> {
  /** As in the capability file; may name replicas. */
  readonly url: string;
  readonly maxLinks: number;
  readonly resolveIntervalMs: number;
  /** The audience is that of the URL which is dialled. */
  readonly identity: Omit<AgentIdentity, 'audience'>;
  /** What the calls of all links of the agent take. */
  readonly loads: Set<LinkLoad>;
  readonly onConnected: (url: string, welcomed: Welcomed) => void;
  /**
   * Of a link that was lost, or one that could not be made. `retryInMs` is undefined where another one was sought before
   * its end, or none is.
   */
  readonly onLost: (url: string, end: ConnectionEnd, retryInMs: number | undefined) => void;
  readonly onDialled: (outcome: DialOutcome) => void;
  readonly onShort: (short: LinksShort) => void;
  readonly random: () => number;
  /** All addresses of a name, of that family where one is given. */
  readonly resolve?: (name: string, family: 0 | 4 | 6) => Promise<readonly string[]>;
}

export function openGatewayLinks(options: GatewayLinksOptions): GatewayLinks {
  const { url, identity, resolve = lookupAll } = options;
  let offer: LinkOffer = { ...identity, handle: options.handle };
  const open = new Map<number, Connection>();
  /** Who waits for all links to have the newest offer. */
  const renewing = new Set<() => void>();
  const drains = new Set<Promise<void>>();
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  /** Of the first link: where names have addresses of both families, each replica has one of either. */
  let family: 0 | 4 | 6 = 0;

  const keeper = createLinkKeeper({
    namesReplicas: namesReplicas(url),
    maxLinks: options.maxLinks,
    resolveIntervalMs: options.resolveIntervalMs,
    dial,
    retire: (id) => void open.get(id)?.leave(),
    resolve: () => void resolveName(),
    onShort: options.onShort,
    random: options.random,
  });

  /** Whatever happens goes through here, so that the next thing to do is always waited for. */
  function step<T>(act: (now: number) => T): T {
    const result = act(performance.now());
    clearTimeout(timer);
    if (keeper.stale === 0) for (const done of renewing) done();
    if (!stopped && keeper.wakeAt !== Infinity) {
      timer = setTimeout(
        () => step((now) => keeper.tick(now)),
        Math.max(0, Math.ceil(keeper.wakeAt - performance.now())),
      );
    }
    return result;
  }

  function dial(id: number, { address, replica }: Target): void {
    const dialled = replica === undefined ? url : urlOfReplica(url, replica);
    let isWelcome = false;
    const { manifestSha256, maxInflight, handle } = offer;
    const connection = openConnection({
      url: dialled,
      address,
      ca: options.ca,
      findProxy: options.findProxy,
      identity: { ...identity, manifestSha256, maxInflight, audience: normalizeAudience(dialled) },
      handle,
      databases: options.databases,
      loads: options.loads,
      onChallenge: (place) => !stopped && step((now) => keeper.challenged(now, id, place)),
      onWelcome(said) {
        isWelcome = true;
        if (family === 0) family = familyOf(said.addressFamily);
        options.onDialled('connected');
        options.onConnected(dialled, said);
        step((now) => keeper.welcomed(now, id, said.fleet));
      },
      onDescribed(untilCounted) {
        if (!keeper.isHeir(id)) return;
        void untilCounted().then((isCounted) => {
          if (isCounted && !stopped) step((now) => keeper.counted(now, id));
        });
      },
      onFleet: (fleet) => step((now) => keeper.fleetChanged(now, id, fleet)),
      onGoAway() {
        // The next connection is dialled while this one still answers its calls, so that none is refused in between.
        if (!stopped) step((now) => keeper.goingAway(now, id));
      },
    });
    open.set(id, connection);
    void connection.over.then((end) => {
      open.delete(id);
      if (stopped) return;
      const aftermath = step((now) => keeper.closed(now, id, end));
      if (!isWelcome) options.onDialled(outcomeOf(end, aftermath === 'left'));
      if (aftermath !== 'left') options.onLost(dialled, end, aftermath.retryInMs);
    });
  }

  function drain(connection: Connection | undefined): void {
    if (connection === undefined) return;
    const drained = connection.drain(DRAIN_TIMEOUT_MS).then(async () => {
      await connection.over;
      drains.delete(drained);
    });
    drains.add(drained);
  }

  function untilRenewed(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(late);
        renewing.delete(done);
        resolve();
      };
      const late = setTimeout(done, withinMs);
      renewing.add(done);
    });
  }

  async function resolveName(): Promise<void> {
    const { hostname } = new URL(url);
    let addresses: readonly string[] | undefined;
    try {
      const literal = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
      if (!literal) addresses = await resolve(hostname, family);
    } catch {
      // The links stay, and the name is looked up again.
    }
    if (!stopped) step((now) => keeper.resolved(now, addresses));
  }

  step((now) => keeper.start(now));
  return {
    get held() {
      return keeper.held;
    },
    get wanted() {
      return keeper.wanted;
    },
    renew(next) {
      offer = next;
      if (stopped) return { over: Promise.resolve(), renewed: async () => ({ replaced: 0, waiting: 0 }) };
      const before = Array.from(open.values(), ({ over }) => over);
      const stale = step((now) => {
        keeper.renew(now);
        return keeper.stale;
      });
      return {
        over: Promise.all(before).then(() => {}),
        async renewed(withinMs) {
          if (keeper.stale > 0) await untilRenewed(withinMs);
          return { replaced: stale - keeper.stale, waiting: keeper.stale };
        },
      };
    },
    databasesChanged() {
      for (const connection of open.values()) connection.databasesChanged();
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      for (const connection of open.values()) drain(connection);
      for (const done of renewing) done();
      await Promise.all(drains);
    },
  };
}

function outcomeOf({ full, refused, retryAfterMs }: ConnectionEnd, isDuplicate: boolean): DialOutcome {
  if (full) return 'full';
  if (isDuplicate) return 'duplicate';
  if (refused) return 'refused';
  return retryAfterMs > 0 ? 'throttled' : 'failed';
}

function familyOf(name: string | undefined): 0 | 4 | 6 {
  if (name === 'IPv6') return 6;
  return name === 'IPv4' ? 4 : 0;
}

async function lookupAll(name: string, family: 0 | 4 | 6): Promise<readonly string[]> {
  const found = await lookup(name, { all: true, family });
  return [...new Set(found.map(({ address }) => address))].toSorted();
}
