import { hash } from 'node:crypto';
import { createExpiringMap } from '@svc/edge';
import { DEFAULT_SERVICE } from '@svc/protocol';
import { createRateLimiter } from '../../access/rate-limit.ts';
import { canBeKey, keyFormOf } from './key-form.ts';
import type { SharePermissions } from '../permission-sets.ts';
import type { ApiKeyPrincipal } from '../../core/principal.ts';
import { principalIdIn } from '../../core/service-id.ts';
import type { KeyRecord } from './key-record.ts';

/** `invalid` answers 401, `unavailable` 503, the others 429. */
export type Authentication = ApiKeyPrincipal | 'invalid' | 'unavailable' | 'busy' | TooManyGuesses;

interface TooManyGuesses {
  readonly retryAfterSeconds: number;
}

export interface Authenticator {
  /**
   * The principal of this service to whom the key belongs. Answers at once for every key in use, which needs no bcrypt.
   * The promise rejects when the verification itself fails. Wrong keys are counted by `source`.
   */
  authenticate(credential: string, source: string, service: string): Authentication | Promise<Authentication>;
  readonly counters: AuthenticationCounters;
}

/** Has the records, and compares keys with them. */
export interface KeyAuthority extends Authenticator {
  /** From now on these records count. Keys of unchanged records stay known. */
  setRecords(services: readonly ServiceKeys[]): void;
  /** Keys with these key ids are unknown from now on. A revoked record stays revoked until it is removed. */
  setRevoked(keyIds: Iterable<string>): void;
  remembered(credential: string, service: string): RememberedKey | undefined;
}

export interface AuthenticatorOptions {
  readonly services: readonly ServiceKeys[];
  readonly verify: (plaintext: string, bcryptHash: string) => Promise<boolean>;
  readonly now: () => number;
  readonly wallClock: () => number;
  readonly sharePermissions: SharePermissions;
  readonly onRetired?: (recordIds: readonly string[]) => void;
}

export interface ServiceKeys {
  readonly id: string;
  readonly keys: readonly KeyRecord[];
}

export interface RememberedKey {
  /** Changes with anything in the record. */
  readonly recordId: string;
  /** Until it is verified again or forgotten. */
  readonly remainingMs: number;
  readonly expiresAtMs: number | undefined;
}

interface AuthenticationCounters {
  readonly cacheHits: number;
  readonly cacheMisses: number;
  readonly slotsInUse: number;
  readonly slots: number;
}

export const CACHE_ENTRIES = 1024;
export const CACHE_LIFETIME_MS: number = 5 * 60_000;
const SLOTS = 4;
/** Long enough to spare a client that retries with a wrong key, short enough to hold little. */
export const REFUSAL_LIFETIME_MS = 10_000;
export const REFUSAL_ENTRIES = 1024;
/**
 * What the wrong keys of one source may cost, in milliseconds of hashing: ten seconds at once, then a twentieth of a
 * core. A request costs its sender microseconds, and its comparison costs the gateway some hundred milliseconds.
 */
const GUESSES = { burst: 10_000, requestsPerSecond: 50 };
/** A key in use is verified again this long before it leaves the cache: long enough to wait for a slot. */
export const REFRESH_BEFORE_MS = 60_000;

interface Attempt {
  readonly plaintext: string;
  readonly service: string;
  readonly entry: string;
  readonly source: string;
  /** What has been spent on comparisons that did not match. */
  spentMs: number;
}

interface Candidate {
  readonly recordId: string;
  readonly keyId: string | undefined;
  /** Whether its record still counts: it was neither removed, nor changed, nor revoked. Never true again. */
  live: boolean;
  readonly keyHash: string;
  readonly principal: ApiKeyPrincipal;
  readonly expiresAtMs: number | undefined;
}

interface Candidates {
  readonly byKeyId: ReadonlyMap<string, Candidate>;
  readonly withoutKeyId: readonly Candidate[];
}

/**
 * Finds whose key a request presents. A key is remembered by its service and its digest, never in plaintext. It is
 *   unknown    in none of the maps;
 *   verifying  in `verifying`, each in a slot of its own: `begin` puts it there, the end of its comparisons removes it;
 *   known      in `known`: `compare` puts it there when a record matches; it leaves when its time is up;
 *   due        known, and in `due` until it is verified again: `refresh` puts it there when its time is nearly up, and
 *              `begin` takes it out;
 *   refused    in `refused`: `compare` puts it there when no record matches; it leaves when its time is up.
 * A known key that is verified again is in `verifying` too, and is answered as known meanwhile. `refreshing` is the one
 * key that `refreshNext` has begun; the next one begins only after it has ended.
 * A key whose record has expired, is revoked, or has been removed or changed is answered as one that no record fits,
 * wherever it is remembered. A record that comes may fit a key that is refused, so `setRecords` empties `refused`.
 *
 * `verify` compares a plaintext with a bcrypt hash off the event loop; `now` is monotonic milliseconds, `wallClock`
 * milliseconds since 1970.
 */
export function createAuthenticator(options: AuthenticatorOptions): KeyAuthority {
  const { verify, now, wallClock, onRetired } = options;
  let byService: ReadonlyMap<string, Candidates> = new Map();
  /** All candidates, by the ids of their records. */
  let live: ReadonlyMap<string, Candidate> = new Map();
  let revoked: ReadonlySet<string> = new Set();
  const known = createExpiringMap<Candidate>({
    maxEntries: CACHE_ENTRIES,
    lifetimeMs: CACHE_LIFETIME_MS,
    now,
  });
  const refused = createExpiringMap<true>({
    maxEntries: REFUSAL_ENTRIES,
    lifetimeMs: REFUSAL_LIFETIME_MS,
    now,
  });
  const guesses = createRateLimiter({ ...GUESSES, now });
  /** The oldest first. */
  const verifying = new Map<
    string,
    { readonly attempt: Attempt; readonly outcome: Promise<Authentication> }
  >();
  /** Known keys that wait to be verified again, one at a time. */
  const due = new Map<string, () => Promise<Authentication>>();
  let refreshing: string | undefined;
  const counters = { cacheHits: 0, cacheMisses: 0, slots: SLOTS };

  function isOver({ live: counts, expiresAtMs }: Candidate): boolean {
    return !counts || (expiresAtMs !== undefined && expiresAtMs <= wallClock());
  }

  function candidatesFor(plaintext: string, service: string): readonly Candidate[] {
    const candidates = byService.get(service);
    if (candidates === undefined) return [];
    const form = keyFormOf(plaintext);
    const candidate = form.kind === 'other' ? undefined : candidates.byKeyId.get(form.keyId);
    if (candidate !== undefined) return isOver(candidate) ? [] : [candidate];
    if (form.kind === 'created' && form.complete) return [];
    return candidates.withoutKeyId.filter((other) => !isOver(other));
  }

  async function compare(attempt: Attempt, first: Candidate | undefined): Promise<Authentication> {
    const { plaintext, service, entry, source } = attempt;
    const compared = new Set<Candidate>();
    const next = (): Candidate | undefined =>
      candidatesFor(plaintext, service).find((other) => !compared.has(other));
    // Found afresh each time, since records come and go during a comparison.
    for (let candidate = first ?? next(); candidate !== undefined; candidate = next()) {
      compared.add(candidate);
      if (attempt.spentMs > 0 && !(await mayGoOn(attempt))) {
        guesses.spend(source, attempt.spentMs);
        const wait = guesses.take(source, 0);
        return { retryAfterSeconds: wait.ok ? 1 : wait.retryAfterSeconds };
      }
      const startedAt = now();
      if (!(await verify(plaintext, candidate.keyHash))) attempt.spentMs += now() - startedAt;
      // Its record may have expired during the comparison.
      else if (!isOver(candidate)) {
        known.set(entry, candidate);
        return candidate.principal;
      }
    }
    refused.set(entry, true);
    guesses.spend(source, attempt.spentMs);
    return 'invalid';
  }

  /**
   * Whether another comparison is worth its cost. A right key may match only after many records, so attempts under way do
   * not count against their source. When they cost more than the budget, the oldest goes on alone and the others wait for
   * its end; a wrong key ends them, too.
   */
  async function mayGoOn(attempt: Attempt): Promise<boolean> {
    for (;;) {
      if (!guesses.take(attempt.source, 0).ok) return false;
      const open = [...verifying.values()].filter((other) => other.attempt.source === attempt.source);
      const [oldest] = open;
      const spentMs = open.reduce((sum, other) => sum + other.attempt.spentMs, 0);
      if (oldest === undefined || oldest.attempt === attempt || spentMs <= GUESSES.burst) return true;
      await oldest.outcome.catch(() => undefined);
    }
  }

  /** Takes a slot until the comparison ends; everyone who presents the same key meanwhile shares it. */
  function begin(attempt: Attempt, first: Candidate | undefined): Promise<Authentication> {
    const { entry } = attempt;
    due.delete(entry);
    const outcome = compare(attempt, first).finally(() => {
      verifying.delete(entry);
      if (refreshing === entry) refreshing = undefined;
      refreshNext();
    });
    verifying.set(entry, { attempt, outcome });
    return outcome;
  }

  /** Called first when a slot is free, so that a flood of unknown keys does not keep known keys from it. */
  function refreshNext(): void {
    if (refreshing !== undefined || verifying.size >= SLOTS) return;
    const next = due.entries().next();
    if (next.done === true) return;
    const [digest, start] = next.value;
    refreshing = digest;
    // A failure changes nothing: the entry expires, and the next use verifies the key.
    start().catch(() => undefined);
  }

  function refresh(attempt: Attempt, candidate: Candidate): void {
    const { entry } = attempt;
    if (verifying.has(entry) || due.has(entry)) return;
    due.set(entry, () => begin(attempt, candidate));
    refreshNext();
  }

  function setRecords(services: readonly ServiceKeys[]): void {
    const before = live;
    const after = new Map<string, Candidate>();
    byService = new Map(
      services.map(({ id, keys }) => {
        const candidates = keys.map((record) => {
          const recordId = recordIdOf(id, record);
          const candidate = before.get(recordId) ?? createCandidate(recordId, id, record);
          after.set(recordId, candidate);
          return candidate;
        });
        const withoutKeyId = candidates.filter(({ keyId }) => keyId === undefined);
        const named = candidates.flatMap((candidate) =>
          candidate.keyId === undefined ? [] : [[candidate.keyId, candidate] as const],
        );
        return [id, { byKeyId: new Map(named), withoutKeyId }] as const;
      }),
    );
    live = after;
    retire([...before.values()].filter(({ recordId }) => !after.has(recordId)));
    refused.clear();
  }

  function createCandidate(recordId: string, service: string, record: KeyRecord): Candidate {
    const { name, keyHash, keyId, capabilities, principal, claims, expiresAtMs } = record;
    return {
      recordId,
      keyId,
      live: keyId === undefined || !revoked.has(keyId),
      keyHash,
      principal: {
        kind: 'api_key',
        id: principalIdIn(service, `key:${principal}`),
        permissions: options.sharePermissions(capabilities),
        claims,
        claimsJson: Object.keys(claims).length === 0 ? '' : JSON.stringify(claims),
        name,
      },
      expiresAtMs,
    };
  }

  function retire(candidates: readonly Candidate[]): void {
    for (const candidate of candidates) candidate.live = false;
    if (candidates.length > 0) onRetired?.(candidates.map(({ recordId }) => recordId));
  }

  setRecords(options.services);
  return {
    authenticate(credential, source, service) {
      if (!canBeKey(credential)) return 'invalid';
      const entry = entryOf(credential, service);
      const match = known.get(entry);
      if (match !== undefined && !isOver(match)) {
        counters.cacheHits++;
        if (known.remainingMs(entry) < REFRESH_BEFORE_MS) {
          refresh({ plaintext: credential, service, entry, source, spentMs: 0 }, match);
        }
        return match.principal;
      }
      counters.cacheMisses++;
      if (candidatesFor(credential, service).length === 0 || refused.get(entry) === true) return 'invalid';
      const shared = verifying.get(entry);
      if (shared !== undefined) return shared.outcome;
      if (verifying.size >= SLOTS) return 'busy';
      const mayGuess = guesses.take(source);
      if (!mayGuess.ok) return { retryAfterSeconds: mayGuess.retryAfterSeconds };
      return begin({ plaintext: credential, service, entry, source, spentMs: 0 }, undefined);
    },
    setRecords,
    setRevoked(keyIds) {
      revoked = new Set(keyIds);
      const retired = [...live.values()].filter(
        (candidate) => candidate.live && candidate.keyId !== undefined && revoked.has(candidate.keyId),
      );
      retire(retired);
    },
    remembered(credential, service) {
      const entry = entryOf(credential, service);
      const match = known.get(entry);
      if (match === undefined || isOver(match)) return undefined;
      const { recordId, expiresAtMs } = match;
      return { recordId, remainingMs: known.remainingMs(entry), expiresAtMs };
    },
    get counters() {
      return { ...counters, slotsInUse: verifying.size };
    },
  };
}

/** Two services may have the same key, each with a record of its own. */
export function entryOf(credential: string, service: string): string {
  const digest = hash('sha256', credential, 'base64');
  return service === DEFAULT_SERVICE ? digest : `${service} ${digest}`;
}

/** Equal for records of one service that say the same. */
function recordIdOf(service: string, record: KeyRecord): string {
  const { capabilities } = record;
  const said = { ...record, capabilities: capabilities === '*' ? '*' : [...capabilities].toSorted() };
  const fields = Object.entries(said).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', JSON.stringify([service, fields]), 'base64url');
}
