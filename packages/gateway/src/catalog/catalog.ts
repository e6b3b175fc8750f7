import { createInOrder, type Sliced } from '@svc/edge';
import type { Description } from '@svc/protocol';
import { whenKnown } from '../core/when-known.ts';
import type { Observe } from '../telemetry/events.ts';
import { createDifferenceReport } from './difference-report.ts';
import { createKeptOffers, sumOfBytes } from './kept-offers.ts';
import { makeOfBytes, noteBytes } from './long-descriptions.ts';
import type { AgentOffer } from './offer.ts';
import { uniteOffers, type United } from './unite-offers.ts';

/** What all agents offer together, including agents that are away (`kept-offers`). */
export interface Catalog {
  /** The result must be called when the link takes no more calls. The process of the link reports differences. */
  add(offer: AgentOffer, isOwn?: boolean): () => void;
  /** Forgets the offers of agents whose key is no longer known. */
  forgetUnknown(): void;
  /** One description made of all offers; the same object until its bytes change. Undefined before the first agent. */
  readonly description: Description | undefined;
  /** Resolves when `description` includes every change so far: at once, unless descriptions are long. */
  readonly upToDate: Promise<void>;
  /** The offers of all agents, in the order of their arrival. */
  readonly offers: readonly AgentOffer[];
  readonly held: readonly { readonly offer: AgentOffer; readonly isConnected: boolean }[];
  knows(capability: string): boolean;
  onDescription(listener: (description: Description) => void): void;
}

/** `isKnown`: whether the key with this id is one of the service's agents. */
export function createCatalog(observe: Observe, isKnown?: (keyId: string) => boolean): Catalog {
  const kept = createKeptOffers<AgentOffer>(isKnown);
  let united: United | undefined;
  let names: ReadonlySet<string> = new Set();
  const listeners: ((description: Description) => void)[] = [];
  const reportDifferences = createDifferenceReport(observe);
  /** Long descriptions take a while; until then the catalog stays as it was. */
  const inOrder = createInOrder();
  let upToDate = Promise.resolve();

  /** Equal descriptions count once. */
  function bytesOfAll(): number {
    return sumOfBytes(new Map(kept.offers.map(({ digest, bytes }) => [digest, bytes])));
  }

  function make(work: Sliced<void>): void {
    upToDate = new Promise((resolve) => {
      inOrder(() => whenKnown(makeOfBytes(bytesOfAll(), work), resolve));
    });
  }

  function* update(): Sliced<void> {
    const next = yield* uniteOffers(kept.offers.toReversed(), united);
    if (next === united) return;
    if (next === undefined) {
      united = undefined;
      names = new Set();
      return;
    }
    const changed = next.version !== united?.version;
    if (!changed) {
      united = { ...next, description: united?.description ?? next.description };
      return;
    }
    noteBytes(next.description, bytesOfAll());
    const nextNames = new Set<string>();
    for (const { name } of next.description.manifest) {
      nextNames.add(name);
      yield;
    }
    united = next;
    names = nextNames;
    for (const listener of listeners) listener(next.description);
  }

  return {
    add(offer, isOwn = true) {
      const equal = kept.offers.find(({ digest }) => digest === offer.digest);
      const agent = { ...offer, description: equal?.description ?? offer.description };
      const { others, leave } = kept.add(agent);
      make(reportDifferences(agent, others, isOwn));
      make(update());
      return () => {
        leave();
        make(update());
      };
    },
    forgetUnknown() {
      kept.forgetUnknown();
      make(update());
    },
    get description() {
      return united?.description;
    },
    get upToDate() {
      return upToDate;
    },
    get offers() {
      return kept.offers;
    },
    get held() {
      return kept.held;
    },
    knows: (capability) => names.has(capability),
    onDescription(listener) {
      listeners.push(listener);
    },
  };
}
