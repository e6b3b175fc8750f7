/** Whose offer it is, and of what. */
export interface OfferIdentity {
  /** Of the agent's key. */
  readonly keyId: string;
  /** Of the agent's process. */
  readonly instanceId: string;
  /** Of the bytes of the description, as the agent signed it. */
  readonly digest: string;
  /** How long the description is. */
  readonly bytes: number;
}

/**
 * The offer of an agent is kept while it is away, until it is replaced: by the next one of the same instance, or of any
 * agent of the same key that connects while no other agent of that key is connected.
 */
export interface KeptOffers<Offer extends OfferIdentity> {
  /** Of one link of an agent, which may have several. */
  add(offer: Offer): AddedOffer<Offer>;
  /** Forgets those of keys that are not known any more. */
  forgetUnknown(): void;
  /** In the order in which they came. */
  readonly offers: readonly Offer[];
  readonly held: readonly { readonly offer: Offer; readonly isConnected: boolean }[];
}

interface AddedOffer<Offer> {
  /** Those beside which it came, the newest first. */
  readonly others: readonly Offer[];
  /** To be called when the link takes no more calls. */
  readonly leave: () => void;
}

interface Kept<Offer> {
  readonly offer: Offer;
  /** Shared by the offers that follow each other of one agent. */
  readonly presence: { links: number };
}

/**
 * Different offers of agents that are away, for each key. Where some agent of a key is always connected, every roll-out
 * of a changed file leaves one behind that nothing replaces.
 */
const AWAY_PER_KEY_MAX = 16;
/** Descriptions of all agents with one key. */
export const KEY_MAX_BYTES: number = 64 * 1024 * 1024;

/** `isKnown`: whether there is an agent's key with this id. One that was removed may still be told of by other processes. */
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
 * Instances that are gone for good never replace their offer. One that is away is forgotten when a newer one of its key
 * that is away offers the same, when too many different newer ones of its key are away, and when newer ones of its key
 * and those that are connected leave it no room.
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

/** Of all of these descriptions, by their digests. */
export function sumOfBytes(bytes: ReadonlyMap<string, number> | undefined): number {
  let all = 0;
  for (const each of bytes?.values() ?? []) all += each;
  return all;
}
