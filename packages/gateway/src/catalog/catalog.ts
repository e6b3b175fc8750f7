import type { Description } from '@svc/protocol';
import type { Observe } from '../telemetry/events.ts';
import { createDifferenceReport } from './difference-report.ts';
import type { AgentOffer } from './offer.ts';
import { uniteOffers, type United } from './unite-offers.ts';

/**
 * What all agents offer together. The offer of an agent is kept while it is away, until it is replaced: by the next one
 * of the same instance, or of any agent of the same key that connects while no other agent of that key is connected.
 */
export interface Catalog {
  /** Returns what is to be called when the agent takes no more calls. */
  add(offer: AgentOffer): () => void;
  /** One description made of all; the same object until its bytes change. Undefined before the first agent. */
  readonly description: Description | undefined;
  /** Whether an offer that is kept has the capability. */
  knows(capability: string): boolean;
  onDescription(listener: (description: Description) => void): void;
}

interface KnownAgent extends AgentOffer {
  connected: boolean;
}

/**
 * Different offers of agents that are away, for each key. Where some agent of a key is always connected, every roll-out
 * of a changed file leaves one behind that nothing replaces.
 */
const AWAY_PER_KEY_MAX = 16;

export function createCatalog(observe: Observe): Catalog {
  /** In the order in which they connected. */
  let agents: readonly KnownAgent[] = [];
  let united: United | undefined;
  let names: ReadonlySet<string> = new Set();
  const listeners: ((description: Description) => void)[] = [];
  const reportDifferences = createDifferenceReport(observe);

  function keep(known: readonly KnownAgent[]): void {
    agents = withoutForgotten(known);
    const next = uniteOffers(agents.toReversed(), united);
    if (next === united || next === undefined) return;
    const changed = next.version !== united?.version;
    united = changed ? next : { ...next, description: united?.description ?? next.description };
    if (!changed) return;
    names = new Set(next.description.manifest.map(({ name }) => name));
    for (const listener of listeners) listener(next.description);
  }

  return {
    add(offer) {
      const { keyId, instanceId, digest } = offer;
      const equal = agents.find((known) => known.digest === digest);
      const agent = { ...offer, description: equal?.description ?? offer.description, connected: true };
      const accompanied = agents.some(
        (known) => known.keyId === keyId && known.instanceId !== instanceId && known.connected,
      );
      const kept = agents.filter(
        (known) => known.keyId !== keyId || (accompanied && known.instanceId !== instanceId),
      );
      reportDifferences(agent, kept.toReversed());
      keep([...kept, agent]);
      return () => {
        agent.connected = false;
        keep(agents);
      };
    },
    get description() {
      return united?.description;
    },
    knows: (capability) => names.has(capability),
    onDescription(listener) {
      listeners.push(listener);
    },
  };
}

/**
 * Instances that are gone for good never replace their offer. One that is away is forgotten when a newer one of its key
 * that is away offers the same, and when too many different newer ones of its key are away.
 */
function withoutForgotten(agents: readonly KnownAgent[]): readonly KnownAgent[] {
  const awayByKey = new Map<string, Set<string>>();
  const kept = agents.toReversed().filter(({ keyId, digest, connected }) => {
    const newer = awayByKey.get(keyId) ?? new Set<string>();
    awayByKey.set(keyId, newer);
    if (connected) return true;
    if (newer.has(digest) || newer.size === AWAY_PER_KEY_MAX) return false;
    newer.add(digest);
    return true;
  });
  return kept.toReversed();
}
