import { loadOffer } from '../config/load.ts';
import { loadFileVerifier } from './file-verifier.ts';
import type { OffersOrder, OffersReport } from './report.ts';

/** Reads what the files offer and whether their statements can be read, without a database. */
export async function readOffers(
  { offersOf }: OffersOrder,
  env: Readonly<Record<string, string | undefined>>,
): Promise<OffersReport> {
  const offers: OffersReport['offers'][number][] = [];
  for (const { file, content } of offersOf) {
    const loaded = loadOffer({ path: file, env, readFile: () => content });
    if ('faults' in loaded) {
      offers.push(loaded);
      continue;
    }
    const { drivers, ...offer } = loaded.offer;
    const verifier = await loadFileVerifier(drivers);
    const faults = await verifier.readStatements(offer.capabilities);
    offers.push(faults.length > 0 ? { faults } : { offer });
  }
  return { offers };
}
