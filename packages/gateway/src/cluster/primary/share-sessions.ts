import { createKeptOffers, type KeptOffers, type OfferIdentity } from '../../catalog/kept-offers.ts';
import type { PrimaryChannel } from '../channel.ts';
import type { SocketFolder } from './socket-folder.ts';
import type { KeptOffer, ListedSession, ReplicaChange, ReplicaState } from '../messages.ts';

/** After this time an agent is listed even if a worker that hangs cannot reach it. */
const REACHED_WITHIN_MS = 1000;

interface Known {
  readonly worker: number;
  readonly session: ListedSession;
  readonly leave: () => void;
}

export interface SharedSessions {
  /** Forgets offers of agents whose keys are not known any more. */
  forgetUnknown(): void;
  /** Of all workers. */
  readonly all: readonly ListedSession[];
}

/**
 * In the primary: shares what workers know about each other's agents. Every change passes through here, so that all workers
 * get all changes in one order and reach the same state; a worker that joins gets that state. `isAgentKey`: whether the key
 * belongs to an agent of the service.
 */
export function shareSessions(
  channel: PrimaryChannel,
  folder: SocketFolder,
  isAgentKey: (service: string, keyId: string) => boolean = () => true,
): SharedSessions {
  /** Workers that get the changes, and where they listen. */
  const members = new Map<number, string>();
  const services = new Map<string, KeptOffers<OfferIdentity>>();
  const sessions = new Map<string, Known>();
  const descriptions = new Map<string, Uint8Array>();
  /** Sessions that have joined, and the workers that cannot send them calls yet. */
  const unreached = new Map<string, { readonly by: Set<number>; readonly timer: NodeJS.Timeout }>();

  function tellAll(change: ReplicaChange, except?: number): void {
    for (const worker of members.keys()) {
      if (worker !== except) channel.send(worker, 'replica_changed', change);
    }
  }

  function reached(connId: string, worker: number): void {
    const waiting = unreached.get(connId);
    waiting?.by.delete(worker);
    if (waiting?.by.size === 0) list(connId);
  }

  function list(connId: string): void {
    clearTimeout(unreached.get(connId)?.timer);
    unreached.delete(connId);
    if (sessions.has(connId)) tellAll({ type: 'listed', connId });
  }

  function forgetDescriptions(): void {
    const used = new Set<string>();
    for (const { offers } of services.values()) for (const { digest } of offers) used.add(digest);
    for (const { session } of sessions.values()) used.add(session.digest);
    const digests = [...descriptions.keys()].filter((digest) => !used.has(digest));
    if (digests.length === 0) return;
    for (const digest of digests) descriptions.delete(digest);
    tellAll({ type: 'forgotten', digests });
  }

  function state(): ReplicaState {
    const byAgent = new Map<string, { worker: number; session: ListedSession }[]>();
    for (const { worker, session } of sessions.values()) {
      const name = agentName(session.service, session);
      byAgent.set(name, [...(byAgent.get(name) ?? []), { worker, session }]);
    }
    const offers: KeptOffer[] = [];
    for (const [service, kept] of services) {
      for (const offer of kept.offers) {
        offers.push({ service, ...offer, sessions: byAgent.get(agentName(service, offer)) ?? [] });
      }
    }
    return {
      siblings: [...members].map(([worker, path]) => ({ worker, path })),
      descriptions: [...descriptions].map(([digest, bytes]) => ({ digest, bytes })),
      offers,
    };
  }

  channel.answer('sibling_socket', (_question, worker) => folder.newPath(worker));
  channel.answer('replica_state', ({ path }, worker) => {
    const before = state();
    tellAll({ type: 'sibling', worker, path });
    members.set(worker, path);
    return before;
  });
  channel.on('session_joined', ({ session, description }, worker) => {
    const { service, connId, keyId, instanceId, digest, bytes } = session;
    const isNew = description !== undefined && !descriptions.has(digest);
    if (isNew) descriptions.set(digest, description);
    if (!descriptions.has(digest)) {
      channel.send(worker, 'replica_changed', { type: 'wanted', connId });
      return;
    }
    const kept = services.get(service) ?? createKeptOffers((id) => isAgentKey(service, id));
    services.set(service, kept);
    const { leave } = kept.add({ keyId, instanceId, digest, bytes });
    sessions.set(connId, { worker, session, leave });
    const joined = { type: 'joined', worker, session } as const;
    tellAll({ ...joined, description: isNew ? description : undefined }, worker);
    channel.send(worker, 'replica_changed', { ...joined, description: undefined });
    const timer = setTimeout(() => list(connId), REACHED_WITHIN_MS);
    unreached.set(connId, { by: new Set(members.keys()), timer });
    forgetDescriptions();
  });
  channel.on('session_reached', ({ connId }, worker) => reached(connId, worker));
  channel.on('session_databases', ({ connId, databases }, worker) => {
    const known = sessions.get(connId);
    if (known === undefined) return;
    sessions.set(connId, { ...known, session: { ...known.session, databases } });
    tellAll({ type: 'databases', connId, databases }, worker);
  });
  channel.on('session_left', ({ connId }) => {
    const known = sessions.get(connId);
    if (known === undefined) return;
    sessions.delete(connId);
    known.leave();
    tellAll({ type: 'left', connId });
    forgetDescriptions();
  });
  channel.onLeave((worker) => {
    members.delete(worker);
    folder.forget(worker);
    for (const [connId, known] of sessions) {
      if (known.worker !== worker) continue;
      sessions.delete(connId);
      known.leave();
    }
    tellAll({ type: 'sibling_gone', worker });
    for (const connId of unreached.keys()) reached(connId, worker);
    forgetDescriptions();
  });
  return {
    forgetUnknown() {
      for (const kept of services.values()) kept.forgetUnknown();
      forgetDescriptions();
    },
    get all() {
      return Array.from(sessions.values(), ({ session }) => session);
    },
  };
}

function agentName(
  service: string,
  { keyId, instanceId }: Pick<OfferIdentity, 'keyId' | 'instanceId'>,
): string {
  return `${service} ${keyId} ${instanceId}`;
}
