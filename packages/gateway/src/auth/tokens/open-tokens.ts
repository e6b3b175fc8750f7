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
  close(): void;
}

/** Takes tokens of these issuers, and fetches their keys from now on. */
export function openTokens(options: {
  readonly service: string;
  readonly issuers: readonly Issuer[];
  readonly clockSkewMs: number;
  readonly refreshMs: number;
  readonly maxStaleMs: number;
  readonly metadataUrl: string;
  readonly sharePermissions: SharePermissions;
  readonly fetchBytes: FetchBytes;
  readonly onKeys: (event: KeysEvent) => void;
  /** For processes in which another one fetches the keys. */
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
