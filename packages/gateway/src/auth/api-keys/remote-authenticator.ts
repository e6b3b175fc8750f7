import { createExpiringMap } from '@svc/edge';
import type { SharePermissions } from '../permission-sets.ts';
import {
  CACHE_ENTRIES,
  CACHE_LIFETIME_MS,
  entryOf,
  REFRESH_BEFORE_MS,
  REFUSAL_ENTRIES,
  REFUSAL_LIFETIME_MS,
  type Authentication,
  type Authenticator,
  type KeyAuthority,
  type RememberedKey,
} from './authenticator.ts';
import { canBeKey } from './key-form.ts';
import { mayHaveRecord, type KnownForms } from './known-forms.ts';
import type { ApiKeyPrincipal } from '../../core/principal.ts';

/** A presented key that a worker does not know. */
export interface KeyQuestion {
  readonly credential: string;
  readonly source: string;
  readonly service: string;
}

export interface KeyAnswer {
  readonly outcome: Authentication;
  readonly remembered: RememberedKey | undefined;
}

interface Known extends RememberedKey {
  readonly principal: ApiKeyPrincipal;
  readonly until: number;
  askedAt: number;
}

export interface RemoteAuthenticator extends Authenticator {
  /** Keys of the retired records are unknown from now on; all other known keys have these forms. */
  recordsChanged(retired: readonly string[], forms: KnownForms): void;
}

/** The authority takes as long as a comparison to renew a key. */
const ASK_AGAIN_MS = 1000;

/**
 * Remembers, by digest alone, what the authority of its replica knows, and for as long; asks for all other keys. A known
 * key is answered at once, and one in use is asked for again in the background before its time is up. A key that no
 * record can fit is not asked for, so that a flood of made-up keys does not reach the process that all workers wait for.
 * `isAway`: whether `ask` failed because there is no authority.
 */
export function createRemoteAuthenticator(options: {
  readonly ask: (question: KeyQuestion) => Promise<KeyAnswer>;
  readonly isAway: (error: unknown) => boolean;
  readonly now: () => number;
  readonly wallClock: () => number;
  readonly sharePermissions: SharePermissions;
}): RemoteAuthenticator {
  const { ask, isAway, now, wallClock, sharePermissions } = options;
  const known = createExpiringMap<Known>({ maxEntries: CACHE_ENTRIES, lifetimeMs: CACHE_LIFETIME_MS, now });
  const refused = createExpiringMap<true>({
    maxEntries: REFUSAL_ENTRIES,
    lifetimeMs: REFUSAL_LIFETIME_MS,
    now,
  });
  const asking = new Map<string, Promise<Authentication>>();
  let changes = 0;
  /** While undefined, every key is asked for. */
  let forms: KnownForms | undefined;
  let cacheHits = 0;
  let cacheMisses = 0;

  async function learn(entry: string, question: KeyQuestion): Promise<Authentication> {
    const before = changes;
    let answer: KeyAnswer;
    try {
      answer = await ask(question);
    } catch (error) {
      if (isAway(error)) return 'unavailable';
      throw error;
    }
    const { outcome, remembered } = answer;
    if (typeof outcome === 'object' && 'permissions' in outcome) {
      const principal = { ...outcome, permissions: sharePermissions(outcome.permissions) };
      // An answer from before a change of the records may be of a removed record, which is not reported again.
      if (remembered !== undefined && before === changes) {
        const at = now();
        known.set(entry, { ...remembered, principal, until: at + remembered.remainingMs, askedAt: at });
      }
      return principal;
    }
    if (outcome === 'invalid') {
      known.delete(entry);
      // A key that was refused before a change of the records may fit a new one.
      if (before === changes) refused.set(entry, true);
    }
    return outcome;
  }

  function begin(entry: string, question: KeyQuestion): Promise<Authentication> {
    const running = asking.get(entry);
    if (running !== undefined) return running;
    const outcome = learn(entry, question).finally(() => asking.delete(entry));
    asking.set(entry, outcome);
    return outcome;
  }

  function isOver({ until, expiresAtMs }: Known): boolean {
    return until <= now() || (expiresAtMs !== undefined && expiresAtMs <= wallClock());
  }

  return {
    authenticate(credential, source, service) {
      if (!canBeKey(credential)) return 'invalid';
      const entry = entryOf(credential, service);
      const match = known.get(entry);
      if (match !== undefined && !isOver(match)) {
        cacheHits++;
        const at = now();
        if (match.until - at < REFRESH_BEFORE_MS && match.askedAt + ASK_AGAIN_MS <= at) {
          match.askedAt = at;
          begin(entry, { credential, source, service }).catch(() => undefined);
        }
        return match.principal;
      }
      const hasNone = forms !== undefined && !mayHaveRecord(forms, credential, service);
      if (hasNone || refused.get(entry) === true) {
        cacheMisses++;
        return 'invalid';
      }
      return begin(entry, { credential, source, service });
    },
    recordsChanged(retired, after) {
      changes++;
      forms = after;
      refused.clear();
      const gone = new Set(retired);
      known.deleteWhere(({ recordId }) => gone.has(recordId));
    },
    get counters() {
      // The authority counts what it is asked.
      return { cacheHits, cacheMisses, slotsInUse: 0, slots: 0 };
    },
  };
}

export async function answerKey(
  authority: KeyAuthority,
  { credential, source, service }: KeyQuestion,
): Promise<KeyAnswer> {
  const outcome = await authority.authenticate(credential, source, service);
  return { outcome, remembered: authority.remembered(credential, service) };
}
