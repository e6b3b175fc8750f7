import { loadOffer, type Offer } from '../config/load.ts';
import { contractOfOffer } from './read/read-openapi.ts';
import type { Contract } from './contract.ts';

/** A capability with one parameter and one field. */
export const SQL = 'select 1 as one where :p is not null';

/** What a file offers that has nothing but these sections; JSON is YAML, too. */
export function offerOf(sections: Readonly<Record<string, unknown>>): Offer {
  const content = Buffer.from(JSON.stringify(sections));
  const loaded = loadOffer({ path: 'capability.yaml', env: {}, readFile: () => content });
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults));
  return loaded.offer;
}

export function contractOf(sections: Readonly<Record<string, unknown>>): Contract {
  return contractOfOffer(offerOf(sections));
}
