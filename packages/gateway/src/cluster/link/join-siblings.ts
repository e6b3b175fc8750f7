import { createInOrder } from '@svc/edge';
import { FLEET_FEATURE, type Description } from '@svc/protocol';
import type { AgentSession } from '../../agents/agent-session.ts';
import { parseDescription, printDescription } from '../../agents/description.ts';
import type { Registry } from '../../agents/registry.ts';
import type { ResultBudget } from '../../agents/result-budget.ts';
import {
  createNewestSessions,
  type NewestSessions,
  type SessionDirectory,
} from '../../agents/session-directory.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { makeOf } from '../../catalog/long-descriptions.ts';
import type { AgentOffer } from '../../catalog/offer.ts';
import { whenKnown } from '../../core/when-known.ts';
import type { WorkerChannel } from '../channel.ts';
import type { KeptOffer, ListedSession, ReplicaChange } from '../messages.ts';
import { listenForSiblings } from './listen-for-siblings.ts';
import { createRemoteLink, type RemoteLink } from './remote-link.ts';
import { reachSibling, type Sibling } from './sibling.ts';

/** Makes the agents of this worker available to all workers of the replica, and theirs to this one. */
export interface Siblings {
  /** To be called once for each service. */
  directoryOf(service: string, registry: Registry, catalog: Catalog): SessionDirectory;
  /** Calls that went to agents of other workers. */
  readonly calls: number;
  /** Ends calls to siblings. Resolves when no calls of siblings are left either, or after that time. */
  leave(withinMs: number): Promise<void>;
}

interface Own {
  readonly service: string;
  readonly session: AgentSession;
  readonly offer: AgentOffer;
  readonly listed: Omit<ListedSession, 'databases'>;
  readonly onListed: () => void;
  /** The session takes no more calls; other workers may not know that yet. */
  isOver: boolean;
  leaveNewest: () => void;
  leaveCatalog: () => void;
}

interface Remote {
  readonly worker: number;
  isListed: boolean;
  readonly link: RemoteLink;
  readonly registry: Registry;
  readonly leaveCatalog: () => void;
}

interface JoinedRemote {
  readonly worker: number;
  readonly session: ListedSession;
  /** What the link offers. */
  readonly description: Description;
  /** What its agent offers, which is what the newest link offers. */
  readonly offer: AgentOffer;
  readonly isListed: boolean;
}

interface ServiceView {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly newest: NewestSessions;
}

/** How long siblings may take to answer: one that hangs must not keep this worker from serving. */
const REACH_MS = 2000;
const TELL_AFTER_MS = 50;
const NOTHING = (): void => {};

/** Resolves when this worker can send calls to all others. Rejects if it cannot listen, or its primary is gone. */
export async function joinSiblings(
  channel: WorkerChannel,
  ownNumber: number,
  budget: ResultBudget,
): Promise<Siblings> {
  const own = new Map<string, Own>();
  const remotes = new Map<string, Remote>();
  const siblings = new Map<number, Sibling>();
  /** The worker and the service of each session of the replica. */
  const places = new Map<string, { readonly worker: number; readonly service: string }>();
  const descriptions = new Map<string, Description>();
  const services = new Map<string, ServiceView>();
  /** Changes of services that this worker does not have yet. */
  const waiting = new Map<string, ((view: ServiceView) => void)[]>();
  const inOrder = createInOrder();
  let calls = 0;

  function inService(service: string, action: (view: ServiceView) => void): void {
    const view = services.get(service);
    if (view !== undefined) action(view);
    else waiting.set(service, [...(waiting.get(service) ?? []), action]);
  }

  function reach(worker: number, path: string): Promise<void> {
    siblings.get(worker)?.close();
    return new Promise((resolve) => {
      const ofThat = (): Remote[] => [...remotes.values()].filter((remote) => remote.worker === worker);
      const sibling = reachSibling({
        worker,
        path,
        budget,
        onReachable() {
          for (const remote of ofThat()) reachable(remote);
          resolve();
        },
        onUnreachable() {
          for (const { registry, link } of ofThat()) registry.removeRemote(link);
        },
      });
      siblings.set(worker, sibling);
    });
  }

  function reachable({ registry, link, isListed }: Remote): void {
    registry.addRemote(link, isListed);
    if (!isListed) channel.tell('session_reached', { connId: link.connId });
  }

  function joined(worker: number, session: ListedSession, description: Description): void {
    const { connId, service, keyId, instanceId, digest, bytes } = session;
    places.set(connId, { worker, service });
    inService(service, (view) => {
      if (worker === ownNumber) listOwn(view, connId);
      else {
        const offer = { keyId, instanceId, digest, bytes, description };
        listRemote(view, { worker, session, description, offer, isListed: false });
      }
    });
  }

  function listOwn({ registry, catalog, newest }: ServiceView, connId: string): void {
    const entered = own.get(connId);
    if (entered === undefined) return;
    const { session, offer, isOver } = entered;
    if (!isOver) registry.add(session, false);
    channel.tell('session_reached', { connId });
    entered.leaveCatalog = catalog.add(offer);
    if (!isOver) entered.leaveNewest = newest.add(session, offer);
  }

  function listRemote(
    { registry, catalog, newest }: ServiceView,
    { worker, session, description, offer, isListed }: JoinedRemote,
  ): void {
    const { connId, keyId, instanceId, keepsSeveral } = session;
    const reached = (): AgentSession | undefined => siblings.get(worker)?.calls;
    const link = createRemoteLink(session, description, reached, () => calls++);
    const leaveCatalog = catalog.add(offer, false);
    const remote = { worker, isListed, link, registry, leaveCatalog };
    remotes.set(connId, remote);
    if (reached() !== undefined) reachable(remote);
    // An agent that keeps one link has given up the one before, in whichever worker.
    if (!keepsSeveral) newest.supersede({ keyId, instanceId });
  }

  function listed(connId: string): void {
    const place = places.get(connId);
    if (place === undefined) return;
    inService(place.service, ({ registry }) => {
      const entered = own.get(connId);
      if (entered !== undefined && !entered.isOver) {
        registry.list(entered.session);
        entered.onListed();
      }
      const remote = remotes.get(connId);
      if (remote === undefined) return;
      remote.isListed = true;
      registry.list(remote.link);
    });
  }

  function left(connId: string): void {
    const place = places.get(connId);
    if (place === undefined) return;
    places.delete(connId);
    inService(place.service, () => {
      own.get(connId)?.leaveCatalog();
      own.delete(connId);
      const remote = remotes.get(connId);
      remotes.delete(connId);
      remote?.registry.removeRemote(remote.link);
      remote?.leaveCatalog();
    });
  }

  function tellOf(entered: Own): void {
    const { listed, offer, session } = entered;
    const tell = (description: Uint8Array | undefined): void => {
      // Printing a long description takes a while: the session may be over by then, or its databases may have changed.
      if (entered.isOver) own.delete(listed.connId);
      else
        channel.tell('session_joined', { session: { ...listed, databases: session.databases }, description });
    };
    if (descriptions.has(listed.digest)) {
      tell(undefined);
      return;
    }
    const printed = makeOf(offer.description, printDescription(offer.description));
    void whenKnown(printed, tell);
  }

  /** Returns a promise if a description must be read first: later changes wait for it. */
  function apply(change: ReplicaChange): Promise<void> | undefined {
    switch (change.type) {
      case 'sibling':
        void reach(change.worker, change.path);
        return undefined;
      case 'sibling_gone':
        siblings.get(change.worker)?.close();
        siblings.delete(change.worker);
        for (const [connId, { worker }] of places) if (worker === change.worker) left(connId);
        return undefined;
      case 'joined': {
        const { worker, session, description: bytes } = change;
        const known =
          descriptions.get(session.digest) ??
          (bytes === undefined ? own.get(session.connId)?.offer.description : parseDescription(bytes));
        if (known === undefined) throw new Error('a description is missing');
        return whenKnown(known, (description) => {
          descriptions.set(session.digest, description);
          joined(worker, session, description);
          return undefined;
        });
      }
      case 'listed':
        listed(change.connId);
        return undefined;
      case 'left':
        left(change.connId);
        return undefined;
      case 'databases': {
        const { connId, databases } = change;
        const place = places.get(connId);
        if (place !== undefined)
          inService(place.service, () => remotes.get(connId)?.link.setDatabases(databases));
        return undefined;
      }
      case 'wanted': {
        const entered = own.get(change.connId);
        if (entered?.isOver === true) own.delete(change.connId);
        else if (entered !== undefined) {
          descriptions.delete(entered.listed.digest);
          tellOf(entered);
        }
        return undefined;
      }
      case 'forgotten':
        for (const digest of change.digests) descriptions.delete(digest);
        return undefined;
    }
  }

  /** Adds the offers in their order, including those of agents that are away. */
  function take(offers: readonly KeptOffer[]): void {
    const away: (() => void)[] = [];
    for (const { service, keyId, instanceId, digest, bytes, sessions } of offers) {
      const offered = descriptions.get(digest);
      if (offered === undefined) continue;
      const offer = { keyId, instanceId, digest, bytes, description: offered };
      if (sessions.length === 0) inService(service, ({ catalog }) => away.push(catalog.add(offer, false)));
      for (const { worker, session } of sessions) {
        // An agent whose file has just changed may still have links with the old description.
        const description = descriptions.get(session.digest) ?? offered;
        places.set(session.connId, { worker, service });
        inService(service, (view) =>
          listRemote(view, { worker, session, description, offer, isListed: true }),
        );
      }
    }
    // Last, because agents that are away are forgotten when others with their key come.
    for (const service of new Set(offers.map((offer) => offer.service))) {
      inService(service, () => {
        for (const leave of away.splice(0)) leave();
      });
    }
  }

  const path = await channel.ask('sibling_socket', undefined);
  const listener = await listenForSiblings(path, (connId) => {
    const entered = own.get(connId);
    return entered === undefined || entered.isOver ? undefined : entered.session;
  });
  const state = await channel.ask('replica_state', { path });
  for (const { digest, bytes } of state.descriptions) descriptions.set(digest, await parseDescription(bytes));
  const reached = state.siblings.map((sibling) => reach(sibling.worker, sibling.path));
  take(state.offers);
  channel.on('replica_changed', (change) => inOrder(() => apply(change)));
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise((resolve) => {
    timer = setTimeout(resolve, REACH_MS);
  });
  await Promise.race([Promise.all(reached), tooLate]);
  clearTimeout(timer);

  return {
    directoryOf(service, registry, catalog) {
      const view = { registry, catalog, newest: createNewestSessions() };
      services.set(service, view);
      for (const action of waiting.get(service) ?? []) action(view);
      waiting.delete(service);
      return {
        enter(session, offer, onListed) {
          const { connId, instanceId, protocolVersion, identity, features } = session;
          const { keyId, digest, bytes } = offer;
          const listed = {
            service,
            connId,
            keyId,
            instanceId,
            digest,
            bytes,
            protocolVersion,
            identity,
            keepsSeveral: features.includes(FLEET_FEATURE),
          };
          const entered: Own = {
            service,
            session,
            offer,
            listed,
            onListed,
            isOver: false,
            leaveNewest: NOTHING,
            leaveCatalog: NOTHING,
          };
          own.set(connId, entered);
          tellOf(entered);
          let timer: NodeJS.Timeout | undefined;
          session.onDatabases(() => {
            // Bounds how often the primary is told, however often the agent reports.
            timer ??= setTimeout(() => {
              timer = undefined;
              const { databases } = session;
              if (databases !== undefined && !entered.isOver)
                channel.tell('session_databases', { connId, databases });
            }, TELL_AFTER_MS);
          });
          return () => {
            if (entered.isOver) return;
            entered.isOver = true;
            clearTimeout(timer);
            registry.remove(session);
            entered.leaveNewest();
            channel.tell('session_left', { connId });
          };
        },
      };
    },
    get calls() {
      return calls;
    },
    async leave(withinMs) {
      for (const sibling of siblings.values()) sibling.close();
      await listener.close(withinMs);
    },
  };
}
