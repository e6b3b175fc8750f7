import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  changesBetween,
  prepareSet,
  type PreparedSet,
  type ServedSet,
  type SetContent,
} from '../calls/served-set.ts';
import type { AgentConfig } from '../config/model.ts';
import type { Database, Query } from '../databases/driver.ts';
import { DatabaseError } from '../databases/errors.ts';
import type { HandleCall } from '../gateway-link/call-session.ts';
import type { LinkOffer, Renewal } from '../gateway-link/gateway-links.ts';
import type { VerifiedAgent } from '../start-up/report.ts';
import type { Swapped } from './reloader.ts';

/** What runs the calls of a set. */
export interface OpenedDatabase {
  readonly database: Database;
  /** How often a worker was started again; absent where this process runs the calls itself. */
  readonly workerRestarts?: (() => number) | undefined;
}

/** What the agent serves: the file of its start, until another takes its place. */
export interface Serving {
  readonly config: AgentConfig;
  readonly database: Database;
  /** Undefined without workers. */
  readonly workerRestarts: number | undefined;
  /** What links say of themselves that are made from now on. */
  readonly offer: LinkOffer;
  /**
   * Serves this from now on; calls that run keep what they began with. Resolves when each link serves it, or after some
   * seconds. Throws `DatabaseError`, and serves on as before, where its database cannot be used.
   */
  swap(verified: VerifiedAgent): Promise<Swapped>;
  /** Once no call comes any more. */
  close(): Promise<void>;
}

export interface ServingOptions {
  /** Of the start. */
  readonly config: AgentConfig;
  readonly set: PreparedSet;
  readonly opened: OpenedDatabase;
  readonly open: (config: AgentConfig) => Promise<OpenedDatabase>;
  /** Handles calls by the set that is served when they come. */
  readonly handlerOf: (served: () => ServedSet) => HandleCall;
  /** Bounds of what runs and waits. */
  readonly resize: (running: number, queued: number) => void;
  /** Makes links with another offer take the place of those that are there. */
  readonly renewLinks: (offer: LinkOffer) => Renewal;
}

interface Offered extends LinkOffer {
  served: ServedSet;
}

/** A link that cannot be replaced sooner is replaced later. */
const RENEWED_WITHIN_MS = 10_000;

export function createServing(options: ServingOptions): Serving {
  let { config, set, opened } = options;
  let offer = offerOf(set, config);
  /** Sets that are served, or were and have calls under way. */
  const living = new Set([set]);
  let formerRestarts = 0;
  let closed = false;

  function offerOf({ served }: PreparedSet, { runtime }: AgentConfig): Offered {
    const offered: Offered = {
      served,
      manifestSha256: createHash('sha256').update(served.description).digest('hex'),
      maxInflight: runtime.maxConcurrentRequests + runtime.queueSize,
      handle: options.handlerOf(() => offered.served),
    };
    return offered;
  }

  async function openChanged(changed: AgentConfig): Promise<OpenedDatabase> {
    const next = await options.open(changed);
    try {
      // Without this connection the first caller would wait for one.
      await next.database.ping();
      return next;
    } catch (error) {
      await next.database.close();
      throw error;
    }
  }

  /** Closes the database of a set once no set needs it: calls that wait for a connection would fail. */
  async function retire(before: PreparedSet, unlinked: Promise<void>): Promise<void> {
    living.add(set);
    await unlinked;
    await before.served.idle();
    living.delete(before);
    const { database } = before;
    const others = [...living].filter((other) => other.database === database);
    if (others.length === 0) {
      await database.close();
      return;
    }
    // A set takes over queries of the one before it.
    const used = new Set(others.flatMap(queriesOf));
    for (const query of queriesOf(before)) if (!used.has(query)) database.forget(query);
  }

  return {
    get config() {
      return config;
    },
    get database() {
      return set.database;
    },
    get workerRestarts() {
      const restarts = opened.workerRestarts?.();
      return restarts === undefined ? undefined : formerRestarts + restarts;
    },
    get offer() {
      return offer;
    },
    async swap(verified) {
      const databaseChanged = !isDeepStrictEqual(
        connectionOf(config.database),
        connectionOf(verified.config.database),
      );
      const next = databaseChanged ? await openChanged(verified.config) : opened;
      const prepared = await prepareSet(setContentOf(verified), next.database, set);
      if (closed) {
        if (databaseChanged) await next.database.close();
        throw new DatabaseError('unavailable', 'the agent ends');
      }
      const before = set;
      const changes = changesBetween(before, prepared);
      if (databaseChanged) formerRestarts += opened.workerRestarts?.() ?? 0;
      [config, opened, set] = [verified.config, next, prepared];
      options.resize(config.runtime.maxConcurrentRequests, config.runtime.queueSize);
      const nextOffer = offerOf(prepared, config);
      if (nextOffer.manifestSha256 === offer.manifestSha256 && nextOffer.maxInflight === offer.maxInflight) {
        // Nothing that the links have signed is different.
        offer.served = prepared.served;
        void retire(before, Promise.resolve());
        return { ...changes, databaseChanged, linksReplaced: 0, linksWaiting: 0 };
      }
      offer = nextOffer;
      const renewal = options.renewLinks(offer);
      void retire(before, renewal.over);
      const links = await renewal.renewed(RENEWED_WITHIN_MS);
      return { ...changes, databaseChanged, linksReplaced: links.replaced, linksWaiting: links.waiting };
    },
    async close() {
      closed = true;
      const databases = new Set(Array.from(living, ({ database }) => database));
      await Promise.all(Array.from(databases, (database) => database.close()));
    },
  };
}

export function setContentOf({ config, prepared, description }: VerifiedAgent): SetContent {
  return { capabilities: config.capabilities, prepared, description };
}

function queriesOf({ served }: PreparedSet): readonly Query[] {
  return Array.from(served.capabilities.values(), ({ query }) => query);
}

/** What connections are made with. */
function connectionOf({
  requireReadonlyAccount: _required,
  requireReadonlyAccountPosition: _position,
  ...connection
}: AgentConfig['database']): unknown {
  return connection;
}
