import {
  createTokenVerifier,
  type FetchBytes,
  type Issuer,
  type KeysEvent,
  type KeySet,
  type TokenCounters,
} from '@svc/identity';
import type { SharePermissions } from '../permission-sets.ts';
import { createTokenAuthentication, type TokenAuthentication } from './authenticate-token.ts';
import { createChallenges } from './challenges.ts';
import { createTokenPrincipals } from './token-principals.ts';

export interface OpenTokens {
  readonly authentication: TokenAuthentication;
  readonly counters: TokenCounters;
  /** Ends what fetches keys in the background. */
  close(): void;
}

/** All that takes tokens of these issuers, whose keys are fetched from now on. */
export function openTokens(options: {
  /** For whose callers. */
  readonly service: string;
  readonly issuers: readonly Issuer[];
  readonly clockSkewMs: number;
  readonly refreshMs: number;
  readonly maxStaleMs: number;
  /** Where the description of the resource is served. */
  readonly metadataUrl: string;
  readonly sharePermissions: SharePermissions;
  readonly fetchBytes: FetchBytes;
  readonly onKeys: (event: KeysEvent) => void;
  /** Where another process fetches the keys. */
  readonly openKeySet?: ((issuer: Issuer, onChange: () => void) => KeySet) | undefined;
}): OpenTokens {
  const verifier = createTokenVerifier(options, options.fetchBytes);
  return {
    authentication: createTokenAuthentication({
      verifier,
      principals: createTokenPrincipals(options.sharePermissions, options.service),
      challenges: createChallenges(options.metadataUrl, options.issuers),
    }),
    counters: verifier.counters,
    close: () => verifier.close(),
  };
}
