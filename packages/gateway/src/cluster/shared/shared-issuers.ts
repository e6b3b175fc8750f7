import { isDeepStrictEqual } from 'node:util';
import {
  fetchKeySet,
  followKeySet,
  type FetchBytes,
  type FollowedKeySet,
  type FollowingKeySet,
  type Issuer,
  type KeysEvent,
  type KeySet,
} from '@svc/identity';
import type { ServiceConfig, TokenConfig } from '../../config/model.ts';
import type { PrimaryChannel, WorkerChannel } from '../channel.ts';

/** The keys of all issuers of a replica, fetched once for all its workers. */
export interface IssuerKeys {
  /** Replaces the issuers. Fetching goes on for those that stay the same. */
  setServices(services: readonly ServiceConfig[]): void;
  readonly fetchFailures: number;
  close(): void;
}

interface Fetched {
  readonly issuer: Issuer;
  readonly set: FollowedKeySet;
}

/** In the primary: fetches in the background, and tells its workers after each fetch. */
export function fetchIssuerKeys(
  channel: PrimaryChannel,
  onKeys: (event: KeysEvent) => void,
  fetchBytes: FetchBytes,
): IssuerKeys {
  let fetched: ReadonlyMap<string, Fetched> = new Map();
  /** The failures of closed sets. */
  let failuresBefore = 0;
  const now = (): number => performance.now();

  function open(id: string, issuer: Issuer, { refreshMs, maxStaleMs }: TokenConfig): Fetched {
    const onFetched = (): void => channel.broadcast('issuer_keys', { id, keys: set.shown });
    const set = fetchKeySet(issuer, fetchBytes, { refreshMs, maxStaleMs, now, onKeys, onFetched });
    return { issuer, set };
  }

  channel.answer('issuer_keys', async ({ id, again }) => {
    const set = fetched.get(id)?.set;
    if (set === undefined) throw new Error('there is no such issuer');
    if (set.isFirstFetch || (again && set.askAgainInMs === 0)) await set.refetch();
    return { keys: set.shown, askAgainInMs: set.askAgainInMs };
  });
  return {
    setServices(services) {
      const after = new Map<string, Fetched>();
      for (const { id: service, tokens } of services) {
        if (tokens === undefined) continue;
        for (const issuer of tokens.issuers) {
          const id = issuerIdOf(service, issuer);
          const before = fetched.get(id);
          after.set(
            id,
            before && isDeepStrictEqual(before.issuer, issuer) ? before : open(id, issuer, tokens),
          );
        }
      }
      for (const [id, { set }] of fetched) {
        if (after.get(id)?.set === set) continue;
        failuresBefore += set.fetchFailures;
        set.close();
      }
      fetched = after;
    },
    get fetchFailures() {
      return [...fetched.values()].reduce((sum, { set }) => sum + set.fetchFailures, failuresBefore);
    },
    close() {
      for (const { set } of fetched.values()) set.close();
    },
  };
}

/** Opens the keys of an issuer of a service. */
export type OpenKeySet = (service: string) => (issuer: Issuer, onChange: () => void) => KeySet;

/** In a worker: follows the keys of its primary. */
export function followIssuerKeys(channel: WorkerChannel): OpenKeySet {
  const following = new Map<string, FollowingKeySet>();
  channel.on('issuer_keys', ({ id, keys }) => following.get(id)?.show(keys));
  return (service) => (issuer, onChange) => {
    const id = issuerIdOf(service, issuer);
    const set: FollowingKeySet = followKeySet({
      ask: async (again) => channel.ask('issuer_keys', { id, again }),
      onChange,
      onClose() {
        if (following.get(id) === set) following.delete(id);
      },
      now: () => performance.now(),
    });
    following.set(id, set);
    return set;
  };
}

function issuerIdOf(service: string, { name }: Issuer): string {
  return `${service}/${name}`;
}
