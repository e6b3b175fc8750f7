import { createKeptOffers, type KeptOffers, type OfferIdentity } from '../catalog/kept-offers.ts';
import type { PrimaryChannel } from '../workers/channel.ts';
import type { KeptOffer, ListedSession, ReplicaChange, ReplicaState } from '../workers/session-messages.ts';

interface Known {
  readonly worker: number;
  readonly session: ListedSession;
  readonly leave: () => void;
}

/**
 * In the primary: what its workers know of each other's agents. Every change passes here, so that it has one order, and
 * what each worker makes of it is the same; one that comes late gets what the others have.
 */
export function shareSessions(channel: PrimaryChannel, pathOf: (worker: number) => string): void {
  /** Those that follow the changes, and where they listen. */
  const members = new Map<number, string>();
  const services = new Map<string, KeptOffers<OfferIdentity>>();
  const sessions = new Map<string, Known>();
  const descriptions = new Map<string, Uint8Array>();

  function tellAll(change: ReplicaChange, except?: number): void {
    for (const worker of members.keys()) {
      if (worker !== except) channel.send(worker, 'replica_changed', change);
    }
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

  channel.answer('sibling_socket', (_question, worker) => pathOf(worker));
  channel.answer('replica_state', ({ path }, worker) => {
    const before = state();
    tellAll({ type: 'sibling', worker, path });
    members.set(worker, path);
    return before;
  });
  channel.on('session_joined', ({ session, description }, worker) => {
    const { service, connId, keyId, instanceId, digest } = session;
    const isNew = description !== undefined && !descriptions.has(digest);
    if (isNew) descriptions.set(digest, description);
    if (!descriptions.has(digest)) {
      channel.send(worker, 'replica_changed', { type: 'wanted', connId });
      return;
    }
    const kept = services.get(service) ?? createKeptOffers();
    services.set(service, kept);
    const { leave } = kept.add({ keyId, instanceId, digest });
    sessions.set(connId, { worker, session, leave });
    const joined = { type: 'joined', worker, session } as const;
    tellAll({ ...joined, description: isNew ? description : undefined }, worker);
    channel.send(worker, 'replica_changed', { ...joined, description: undefined });
    forgetDescriptions();
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
    for (const [connId, known] of sessions) {
      if (known.worker !== worker) continue;
      sessions.delete(connId);
      known.leave();
    }
    tellAll({ type: 'sibling_gone', worker });
    forgetDescriptions();
  });
}

function agentName(
  service: string,
  { keyId, instanceId }: Pick<OfferIdentity, 'keyId' | 'instanceId'>,
): string {
  return `${service} ${keyId} ${instanceId}`;
}
