import type { ClaimPath } from './claims.ts';

/** An issuer whose tokens are taken, as configured: every value checked, every default applied. */
export interface Issuer {
  /** For logs; no other issuer has it. */
  readonly name: string;
  /** The `iss` of its tokens, compared byte by byte; no other issuer has it. */
  readonly issuer: string;
  /** A token must name one of these in `aud`, or in `audienceClaim`; never empty. */
  readonly audiences: readonly string[];
  /** The claim that names one of `audiences` where the issuer writes no `aud`; a token with `aud` is refused then. */
  readonly audienceClaim: string | undefined;
  /** What may stand beside one of them in `aud`; undefined for anything. */
  readonly otherAudiences: readonly string[] | undefined;
  readonly keySource: KeySource;
  readonly algorithms: readonly string[];
  /** Accepted `typ`, in lower case; the empty text stands for none. */
  readonly types: readonly string[];
  readonly idTokens: boolean;
  readonly requiredClaims: readonly RequiredClaim[];
  /** Greatest exp - iat; undefined for any, and then `iat` may be missing. */
  readonly maxLifetimeMs: number | undefined;
  readonly grants: readonly Grant[];
  /** What of a token goes on, by the name that it gets. */
  readonly claims: ReadonlyMap<string, ClaimPath>;
  readonly scopes: readonly string[];
  readonly advertise: boolean;
  /** Whether subjects stand in logs as they are; otherwise hashed. */
  readonly logSubject: boolean;
}

export type KeySource =
  | { readonly kind: 'discovery' }
  | { readonly kind: 'uri'; readonly uri: string }
  | { readonly kind: 'file'; readonly path: string };

export interface RequiredClaim {
  readonly path: ClaimPath;
  /** One of these, or a list that holds one. */
  readonly values: readonly (string | number | boolean)[];
}

/** What tokens with a scope, or with a value of a claim (equal, or member of a list), may call. */
export interface Grant {
  readonly capabilities: '*' | ReadonlySet<string>;
  readonly condition:
    | { readonly kind: 'scope'; readonly scope: string }
    | { readonly kind: 'claim'; readonly path: ClaimPath; readonly value: string | number | boolean };
}
