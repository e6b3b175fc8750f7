import type { Issuer } from '../model/issuer.ts';
import { fetchKeys } from './fetch-keys.ts';
import type { FetchBytes } from './https-fetch.ts';
import { createKeySet, type FollowedKeySet, type KeySetOptions } from './key-set.ts';

/** A file on this machine is looked at oftener than issuers are asked. */
const FILE_REFRESH_MS = 60_000;

/** The keys of this issuer, from where its record says. */
export function fetchKeySet(
  issuer: Issuer,
  fetchBytes: FetchBytes,
  options: Omit<KeySetOptions, 'name' | 'fetch'>,
): FollowedKeySet {
  return createKeySet({
    ...options,
    name: issuer.name,
    fetch: async (signal) => fetchKeys(issuer, fetchBytes, signal),
    refreshMs: issuer.keySource.kind === 'file' ? FILE_REFRESH_MS : options.refreshMs,
  });
}
