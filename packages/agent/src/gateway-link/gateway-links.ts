import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { DRAIN_TIMEOUT_MS, namesReplicas, normalizeAudience, urlOfReplica } from '@svc/protocol';
import type { AgentLinks, LinkOffer } from '../calls/link-offer.ts';
import type { LinkLoad } from './call-session.ts';
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

/** The links to one gateway, however many replicas it has. A lost link is dialled again, for as long as the agent runs. */
export interface GatewayLinks extends Omit<AgentLinks, 'counts'> {
  readonly held: number;
  readonly wanted: number;
}

/** A dial makes a link, or fails for one of the other reasons. */
const DIAL_OUTCOMES = ['connected', 'duplicate', 'full', 'refused', 'throttled', 'failed'] as const;
type DialOutcome = (typeof DIAL_OUTCOMES)[number];

export interface GatewayLinksOptions extends Pick<
  ConnectionOptions,
  'ca' | 'findProxy' | 'handle' | 'databases'
> {
  /** As in the capability file; may name replicas. */
  readonly url: string;
  readonly maxLinks: number;
  readonly resolveIntervalMs: number;
  /** Without the audience, which follows from the URL that is dialled. */
  readonly identity: Omit<AgentIdentity, 'audience'>;
  /** See `CallSessionOptions`. */
  readonly loads: Set<LinkLoad>;
  readonly onConnected: (url: string, welcomed: Welcomed) => void;
  /**
   * A link was lost, or could not be made. `retryInMs` is undefined if another was already being dialled before its end, or
   * none is needed.
   */
  readonly onLost: (url: string, end: ConnectionEnd, retryInMs: number | undefined) => void;
  readonly onDialled: (outcome: DialOutcome) => void;
  readonly onShort: (short: LinksShort) => void;
  readonly random: () => number;
  /** All addresses of a name, only those of the family if one is given. */
  readonly resolve?: (name: string, family: 0 | 4 | 6) => Promise<readonly string[]>;
}

export function openGatewayLinks(options: GatewayLinksOptions): GatewayLinks {
  const { url, identity, resolve = lookupAll } = options;
  let offer: LinkOffer = { ...identity, handle: options.handle };
  const open = new Map<number, Connection>();
  /** Called when all links have the newest offer. */
  const renewing = new Set<() => void>();
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  /** That of the first link: a name with addresses of both families has two for each replica. */
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

  /** Everything that happens goes through here, so that the timer is always set for the next thing to do. */
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
    const { manifestSha256, maxInflight, hasPages, handle } = offer;
    const connection = openConnection({
      url: dialled,
      address,
      ca: options.ca,
      findProxy: options.findProxy,
      identity: { ...identity, manifestSha256, maxInflight, hasPages, audience: normalizeAudience(dialled) },
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
        // The next connection is dialled while this one still answers its calls, so that no call is refused meanwhile.
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
      const drained = Array.from(open.values(), async (connection) => {
        await connection.drain(DRAIN_TIMEOUT_MS);
        await connection.over;
      });
      for (const done of renewing) done();
      await Promise.all(drained);
    },
  };
}

/** The links to all gateways of the capability file. */
export interface AllLinks extends GatewayLinks {
  /** The counts of each outcome. */
  readonly dials: ReadonlyMap<DialOutcome, number>;
}

export interface AllLinksOptions extends Omit<
  GatewayLinksOptions,
  'url' | 'loads' | 'onDialled' | 'onShort'
> {
  /** Each leads to another gateway. */
  readonly urls: readonly string[];
  /** To all gateways together, with an equal part for each. */
  readonly maxLinks: number;
  readonly onShort: (url: string, short: LinksShort) => void;
}

export function openAllLinks({ urls, maxLinks, onShort, ...options }: AllLinksOptions): AllLinks {
  const dials = new Map<DialOutcome, number>(DIAL_OUTCOMES.map((outcome) => [outcome, 0]));
  const loads = new Set<LinkLoad>();
  const gateways = urls.map((url) =>
    openGatewayLinks({
      ...options,
      url,
      maxLinks: Math.floor(maxLinks / urls.length),
      loads,
      onDialled: (outcome) => void dials.set(outcome, (dials.get(outcome) ?? 0) + 1),
      onShort: (short) => onShort(url, short),
    }),
  );
  const sum = (of: (gateway: GatewayLinks) => number): number =>
    gateways.reduce((total, gateway) => total + of(gateway), 0);
  return {
    dials,
    get held() {
      return sum(({ held }) => held);
    },
    get wanted() {
      return sum(({ wanted }) => wanted);
    },
    renew(offer) {
      const renewals = gateways.map((gateway) => gateway.renew(offer));
      return {
        over: Promise.all(renewals.map(({ over }) => over)).then(() => {}),
        async renewed(withinMs) {
          const all = await Promise.all(renewals.map((renewal) => renewal.renewed(withinMs)));
          return {
            replaced: all.reduce((total, { replaced }) => total + replaced, 0),
            waiting: all.reduce((total, { waiting }) => total + waiting, 0),
          };
        },
      };
    },
    databasesChanged() {
      for (const gateway of gateways) gateway.databasesChanged();
    },
    async stop() {
      await Promise.all(gateways.map((gateway) => gateway.stop()));
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
