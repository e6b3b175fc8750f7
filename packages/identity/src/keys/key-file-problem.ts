import type { Issuer } from '../model/issuer.ts';
import { fetchKeys } from './fetch-keys.ts';
import { createHttpsFetch } from './https-fetch.ts';
import { KeysProblem } from './keys-problem.ts';

/** How long a file may take to be read. */
const DEADLINE_MS = 5000;

/** What is wrong with the issuer's `jwks_file`; undefined where it has keys to verify with, or there is no such file. */
export async function keyFileProblem(issuer: Issuer): Promise<string | undefined> {
  if (issuer.keySource.kind !== 'file') return undefined;
  try {
    const { used } = await fetchKeys(
      issuer,
      createHttpsFetch(() => undefined),
      AbortSignal.timeout(DEADLINE_MS),
    );
    return used > 0 ? undefined : 'jwks_file has no key that can be used with `algorithms`';
  } catch (error) {
    if (error instanceof KeysProblem) return error.message;
    throw error;
  }
}
