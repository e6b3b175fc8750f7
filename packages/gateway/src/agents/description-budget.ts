import { DESCRIPTION_MAX_BYTES } from '@svc/protocol';
import { KEY_MAX_BYTES, sumOfBytes, type OfferIdentity } from '../catalog/kept-offers.ts';
import { badDescription } from './agent-session.ts';

export type Described = Pick<OfferIdentity, 'keyId' | 'digest' | 'bytes'>;

/** Bounds the memory of descriptions: of each, of all agents with one key, and of all. Equal ones count once. */
export interface DescriptionBudget {
  /** Throws ProtocolError (4422) if the description exceeds a bound. The returned function must be called when the link ends. */
  readonly admit: (described: Described) => () => void;
}

/** An offer of a catalog. Offers of agents that are away make room for others with the same key. */
export interface HeldOffer {
  readonly offer: Described;
  readonly isConnected: boolean;
}

const ALL_MAX_BYTES = 256 * 1024 * 1024;

export function createDescriptionBudget(offers: () => Iterable<HeldOffer>): DescriptionBudget {
  const links = new Set<Described>();

  return {
    admit(described) {
      const { keyId, digest, bytes } = described;
      if (bytes > DESCRIPTION_MAX_BYTES) throw badDescription('the description is longer than 8 MiB');
      const ofKey = new Map<string, number>([[digest, bytes]]);
      const all = new Map<string, number>([[digest, bytes]]);
      for (const link of links) {
        all.set(link.digest, link.bytes);
        if (link.keyId === keyId) ofKey.set(link.digest, link.bytes);
      }
      for (const { offer, isConnected } of offers()) {
        all.set(offer.digest, offer.bytes);
        if (isConnected && offer.keyId === keyId) ofKey.set(offer.digest, offer.bytes);
      }
      if (sumOfBytes(ofKey) > KEY_MAX_BYTES)
        throw badDescription('the descriptions of the agents with this key take more than 64 MiB');
      if (sumOfBytes(all) > ALL_MAX_BYTES)
        throw badDescription('the descriptions of all agents take more than 256 MiB');
      links.add(described);
      return () => void links.delete(described);
    },
  };
}
