import { createHash } from 'node:crypto';
import { MAX_INFLIGHT_MAX, ONLY_DATABASE, type DatabaseState } from '@svc/protocol';
import { changesBetween, prepareSet, type PreparedSet, type ServedSet } from '../calls/served-set.ts';
import type { AgentConfig } from '../config/model.ts';
import type { Database, Query } from '../databases/driver/driver.ts';
import { DEFAULT_DRIVER, driverOf } from '../databases/drivers.ts';
import { DatabaseError } from '../databases/driver/errors.ts';
import { UNNAMED } from '../capabilities/database-names.ts';
import {
  closeAll,
  closeUnless,
  databasesOf,
  NOT_VERIFIED,
  pingAll,
  sameConnection,
  type OpenedDatabase,
  type OpenedDatabases,
} from '../databases/opened.ts';
import type { HandleCall } from '../calls/handle-call.ts';
import type { LinkOffer, Renewal } from '../calls/link-offer.ts';
import type { VerifiedAgent } from '../start-up/report.ts';
import type { Swapped } from './reloader.ts';

/** What the agent serves: the file of its start, until a reload. */
export interface Serving {
  readonly verified: VerifiedAgent;
  /** What gateways are told. */
  readonly databaseStates: readonly DatabaseState[];
  readonly databases: ReadonlyMap<string, Database>;
  /** The OpenTelemetry name for the kind of the capability's database. */
  systemOf(capability: string): string;
  /** Undefined without workers. */
  readonly workerRestarts: number | undefined;
  /** What new links offer. */
  readonly offer: LinkOffer;
  /**
   * Serves this from now on; running calls keep what they began with. Resolves when each link serves it, or after some
   * seconds. If a database cannot be used, throws `DatabaseError` and serves the same as before. `ended`: as in `prepareSet`.
   */
  swap(verified: VerifiedAgent, ended?: ReadonlySet<string>): Promise<Swapped>;
  /** To be called when no call comes any more. */
  close(): Promise<void>;
}

export interface ServingOptions {
  readonly verified: VerifiedAgent;
  readonly set: PreparedSet;
  readonly opened: OpenedDatabases;
  readonly open: (config: AgentConfig, name: string) => Promise<OpenedDatabase>;
  /** Handles each call with the set that is served when it comes. */
  readonly handlerOf: (served: () => ServedSet) => HandleCall;
  /** Bounds the calls that run and wait. */
  readonly resize: (running: number, queued: number, databases: readonly string[]) => void;
  /** Replaces the links by links with this offer. */
  readonly renewLinks: (offer: LinkOffer) => Renewal;
}

interface Offered extends LinkOffer {
  served: ServedSet;
}

/** Links that are not replaced by then are replaced later. */
const RENEWED_WITHIN_MS = 10_000;

export function createServing(options: ServingOptions): Serving {
  let { verified, set, opened } = options;
  let offer = offerOf(set, verified.config);
  /** The set that is served, and former ones that still have calls under way. */
  const living = new Set([set]);
  let formerRestarts = 0;
  let closed = false;

  function offerOf({ served }: PreparedSet, { runtime, databases, capabilities }: AgentConfig): Offered {
    const ofOne = runtime.maxConcurrentRequests + runtime.queueSize;
    const offered: Offered = {
      served,
      manifestSha256: createHash('sha256').update(served.description).digest('hex'),
      maxInflight: Math.min(ofOne * Object.keys(databases).length, MAX_INFLIGHT_MAX),
      hasPages: capabilities.some(({ clauses }) => clauses?.hasPages === true),
      handle: options.handlerOf(() => offered.served),
    };
    return offered;
  }

  /** Opens the databases that are new in the file, or have other settings. */
  async function openChanged({ config: changed, unverified }: VerifiedAgent): Promise<OpenedDatabases> {
    const fresh = new Map<string, OpenedDatabase>();
    return closeUnless(fresh, async () => {
      for (const [name, settings] of Object.entries(changed.databases)) {
        const former = verified.config.databases[name];
        const isOpen = opened.get(name) !== NOT_VERIFIED;
        const isVerified = !unverified.some((each) => each.name === name);
        if (former !== undefined && sameConnection(former, settings) && (isOpen || !isVerified)) continue;
        fresh.set(name, isVerified ? await options.open(changed, name) : NOT_VERIFIED);
      }
      // Otherwise the first caller would wait for a connection.
      await pingAll(fresh);
      return fresh;
    });
  }

  function restartsOf(databases: Iterable<OpenedDatabase>): number {
    return [...databases].reduce((sum, { workerRestarts }) => sum + (workerRestarts?.() ?? 0), 0);
  }

  /** Closes the databases of a former set once no set needs them: closing them sooner would fail waiting calls. */
  async function retire(before: PreparedSet, unlinked: Promise<void>): Promise<void> {
    living.add(set);
    await unlinked;
    await before.served.idle();
    living.delete(before);
    const needed = new Set([...living].flatMap(({ databases }) => [...databases.values()]));
    // A later set may have taken over queries.
    const used = new Set([...living].flatMap(queriesOf));
    for (const [name, { database, prepared }] of before.sources) {
      if (prepared === undefined) continue;
      const query = before.served.capabilities.get(name)?.query;
      if (query !== undefined && needed.has(database) && !used.has(query)) database.forget(query);
    }
    const unneeded = [...before.databases.values()].filter((database) => !needed.has(database));
    await Promise.all(unneeded.map((database) => database.close()));
  }

  return {
    get verified() {
      return verified;
    },
    get databaseStates() {
      return Object.keys(verified.config.databases).map((name): DatabaseState => ({
        name: name === UNNAMED ? ONLY_DATABASE : name,
        state:
          verified.unverified.find((each) => each.name === name)?.state ??
          (opened.get(name)?.database.isUp === true ? 'ready' : 'away'),
      }));
    },
    get databases() {
      return set.databases;
    },
    systemOf(capability) {
      const name = set.sources.get(capability)?.capability.database ?? UNNAMED;
      return driverOf(verified.config.databases[name]?.driver ?? DEFAULT_DRIVER).systemName;
    },
    get workerRestarts() {
      return verified.config.runtime.workers === 1 ? undefined : formerRestarts + restartsOf(opened.values());
    },
    get offer() {
      return offer;
    },
    async swap(changed, ended) {
      const fresh = await openChanged(changed);
      const { config } = changed;
      const kept = new Map(
        [...opened].filter(([name]) => Object.hasOwn(config.databases, name) && !fresh.has(name)),
      );
      const next: OpenedDatabases = new Map([...kept, ...fresh]);
      const prepared = await closeUnless(fresh, () => prepareSet(changed, databasesOf(next), set, ended));
      const databaseChanged = fresh.size > 0 || kept.size < opened.size;
      if (closed) {
        await closeAll(fresh);
        throw new DatabaseError('unavailable', 'the agent ends');
      }
      const before = set;
      const changes = changesBetween(before, prepared);
      formerRestarts += restartsOf([...opened].flatMap(([name, each]) => (kept.has(name) ? [] : [each])));
      [verified, opened, set] = [changed, next, prepared];
      const { maxConcurrentRequests, queueSize } = config.runtime;
      options.resize(maxConcurrentRequests, queueSize, Object.keys(config.databases));
      const nextOffer = offerOf(prepared, config);
      if (nextOffer.manifestSha256 === offer.manifestSha256 && nextOffer.maxInflight === offer.maxInflight) {
        // The links have signed the same offer.
        offer.served = prepared.served;
        retire(before, Promise.resolve()).catch(leaveOpen);
        return { ...changes, databaseChanged, linksReplaced: 0, linksWaiting: 0 };
      }
      offer = nextOffer;
      const renewal = options.renewLinks(offer);
      retire(before, renewal.over).catch(leaveOpen);
      const links = await renewal.renewed(RENEWED_WITHIN_MS);
      return { ...changes, databaseChanged, linksReplaced: links.replaced, linksWaiting: links.waiting };
    },
    async close() {
      closed = true;
      const databases = new Set([...living].flatMap((each) => [...each.databases.values()]));
      await Promise.all(Array.from(databases, (database) => database.close()));
    },
  };
}

/** A database that cannot be closed ends with the process; nothing uses it any more. */
function leaveOpen(): void {}

function queriesOf({ served }: PreparedSet): readonly Query[] {
  return Array.from(served.capabilities.values(), ({ query }) => query);
}
