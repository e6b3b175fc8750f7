import { parseIssuers } from '../config/parse-issuers.ts';
import { AUTHORITY } from '../model/issuer.testing.ts';
import { createHttpsFetch } from '../keys/https-fetch.ts';
import type { KeysEvent } from '../keys/keys-event.ts';
import type { TokenVerifier } from '../model/verified-token.ts';
import { createTokenVerifier } from './token-verifier.ts';

export const RESOURCE = 'https://gateway.example.com/mcp';
export const SKEW_SECONDS = 30;

/** A verifier whose clocks the test moves, the wall clock from what it is, and what it has said about keys. */
export interface TestVerifier extends TokenVerifier {
  readonly clock: { ms: number; aheadMs: number };
  readonly events: readonly KeysEvent[];
}

/** `records` are as in the configuration. */
export function openVerifier(
  records: readonly unknown[],
  options: { readonly refreshMs?: number; readonly maxStaleMs?: number } = {},
): TestVerifier {
  const parsed = parseIssuers(records, { resource: RESOURCE });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const clock = { ms: 0, aheadMs: 0 };
  const events: KeysEvent[] = [];
  const verifier = createTokenVerifier(
    {
      issuers: parsed.issuers,
      clockSkewMs: SKEW_SECONDS * 1000,
      refreshMs: options.refreshMs ?? 600_000,
      maxStaleMs: options.maxStaleMs ?? 86_400_000,
      onKeys: (event) => events.push(event),
      now: () => clock.ms,
      wallClock: () => Date.now() + clock.aheadMs,
    },
    createHttpsFetch(() => undefined, { ca: AUTHORITY }),
  );
  return {
    clock,
    events,
    verify: (token) => verifier.verify(token),
    counters: verifier.counters,
    close: () => verifier.close(),
  };
}

export const nowSeconds = (): number => Math.floor(Date.now() / 1000);
