import { DESCRIPTION_MAX_BYTES } from '@svc/protocol';
import { KEY_MAX_BYTES, sumOfBytes, type OfferIdentity } from '../catalog/kept-offers.ts';
import { badDescription } from './agent-session.ts';

/** Whose description it is, and how long. */
export type Described = Pick<OfferIdentity, 'keyId' | 'digest' | 'bytes'>;

/** Bounds the memory of descriptions: of each, of all agents with one key, and of all. Equal ones count once. */
export interface DescriptionBudget {
  /** Throws ProtocolError (4422) for one that is too much. Returns what is to be called when the link is over. */
  readonly admit: (described: Described) => () => void;
}

/** What an offer of the catalogs takes; an agent that is away makes room for others with its key. */
export interface HeldOffer {
  readonly offer: Described;
  readonly isConnected: boolean;
}

const ALL_MAX_BYTES = 256 * 1024 * 1024;

/** `offers`: of the catalogs of all services. */
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
