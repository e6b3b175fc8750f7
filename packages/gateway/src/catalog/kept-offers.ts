export interface OfferIdentity {
  /** The id of the agent's key. */
  readonly keyId: string;
  /** The id of the agent's process. */
  readonly instanceId: string;
  /** The digest of the description, as the agent signed it. */
  readonly digest: string;
  /** The length of the description. */
  readonly bytes: number;
}

/**
 * Keeps the offer of an agent that is away until the same instance offers again, or until an agent with the same key
 * connects while no other agent with that key is connected.
 */
export interface KeptOffers<Offer extends OfferIdentity> {
  /** Adds the offer of one link; an agent may have several links. */
  add(offer: Offer): AddedOffer<Offer>;
  forgetUnknown(): void;
  /** In the order of their arrival. */
  readonly offers: readonly Offer[];
  readonly held: readonly { readonly offer: Offer; readonly isConnected: boolean }[];
}

interface AddedOffer<Offer> {
  /** The offers that it is united with, the newest first. */
  readonly others: readonly Offer[];
  /** Must be called when the link takes no more calls. */
  readonly leave: () => void;
}

interface Kept<Offer> {
  readonly offer: Offer;
  /** Shared by successive offers of one agent. */
  readonly presence: { links: number };
}

/**
 * Different offers of agents that are away, for each key. While some agent of a key is always connected, every roll-out of
 * a changed file leaves one that nothing replaces.
 */
const AWAY_PER_KEY_MAX = 16;
export const KEY_MAX_BYTES: number = 64 * 1024 * 1024;

/** `isKnown`: whether the key id belongs to an agent. Other processes may still report a removed key. */
export function createKeptOffers<Offer extends OfferIdentity>(
  isKnown: (keyId: string) => boolean = () => true,
): KeptOffers<Offer> {
  let kept: readonly Kept<Offer>[] = [];
  const withoutForgotten = (offers: readonly Kept<Offer>[]): readonly Kept<Offer>[] =>
    withoutReplaced(offers.filter(({ offer }) => isKnown(offer.keyId)));

  return {
    add(offer) {
      const { keyId, instanceId } = offer;
      const isSameAgent = (known: Offer): boolean => known.keyId === keyId && known.instanceId === instanceId;
      const presence = kept.find((known) => isSameAgent(known.offer))?.presence ?? { links: 0 };
      const accompanied = kept.some(
        (known) =>
          known.offer.keyId === keyId && known.offer.instanceId !== instanceId && known.presence.links > 0,
      );
      const others = kept.filter(
        (known) => known.offer.keyId !== keyId || (accompanied && known.offer.instanceId !== instanceId),
      );
      presence.links++;
      kept = withoutForgotten([...others, { offer, presence }]);
      let left = false;
      return {
        others: others.toReversed().map((known) => known.offer),
        leave() {
          if (left) return;
          left = true;
          presence.links--;
          kept = withoutForgotten(kept);
        },
      };
    },
    forgetUnknown() {
      kept = withoutForgotten(kept);
    },
    get offers() {
      return kept.map(({ offer }) => offer);
    },
    get held() {
      return kept.map(({ offer, presence }) => ({ offer, isConnected: presence.links > 0 }));
    },
  };
}

/**
 * Instances that never come back cannot replace their offer. So the offer of an agent that is away is forgotten when a
 * newer one of the same key is equal, when too many newer ones differ, and when newer and connected ones fill the memory.
 */
function withoutReplaced<Offer extends OfferIdentity>(kept: readonly Kept<Offer>[]): readonly Kept<Offer>[] {
  const connected = new Map<string, Map<string, number>>();
  for (const { offer, presence } of kept) {
    if (presence.links > 0) within(connected, offer.keyId).set(offer.digest, offer.bytes);
  }
  const awayByKey = new Map<string, Map<string, number>>();
  const remembered = kept.toReversed().filter(({ offer: { keyId, digest, bytes }, presence }) => {
    if (presence.links > 0) return true;
    const newer = within(awayByKey, keyId);
    if (newer.has(digest) || newer.size === AWAY_PER_KEY_MAX) return false;
    const room = KEY_MAX_BYTES - sumOfBytes(connected.get(keyId)) - sumOfBytes(newer);
    if (bytes > room) return false;
    newer.set(digest, bytes);
    return true;
  });
  return remembered.toReversed();
}

function within(byKey: Map<string, Map<string, number>>, keyId: string): Map<string, number> {
  const known = byKey.get(keyId) ?? new Map<string, number>();
  byKey.set(keyId, known);
  return known;
}

export function sumOfBytes(bytes: ReadonlyMap<string, number> | undefined): number {
  let all = 0;
  for (const each of bytes?.values() ?? []) all += each;
  return all;
}
