import {
  parseClaims,
  tokenPrincipalId,
  type TokenOutcome,
  type TokenVerifier,
  type VerifiedToken,
} from '@svc/identity';
import { JsonError, parseStrictJson, type Metadata } from '@svc/protocol';
import type { Caller } from '../capabilities/caller.ts';
import type { IdentityConfig } from '../config/model.ts';

export type IdentityRules = Pick<IdentityConfig, 'trust' | 'acceptsKeys' | 'maxAgeSeconds'>;

export type Identified =
  | { readonly kind: 'known'; readonly caller: Caller }
  /** `detail` is for the log, and holds nothing that the caller or the gateway sent. */
  | { readonly kind: 'refused'; readonly detail: string; readonly caller?: Caller }
  /** The caller cannot be identified now, but perhaps later. */
  | { readonly kind: 'unavailable'; readonly detail: string };

/** Identifies the caller from the metadata of a call. A promise only if keys must be fetched first. */
export type IdentifyCaller = (metadata: Metadata, capability: string) => Identified | Promise<Identified>;

/** A token may be so much older than `max_age`: the agent's clock may be ahead of the gateway's, which checks it exactly. */
const AGE_SLACK_SECONDS = 30;

/** With `trust: token` only the token identifies the caller, whatever else the gateway sends. */
export function createIdentifyCaller(
  rules: IdentityRules,
  verifier: Pick<TokenVerifier, 'verify'> | undefined,
  wallClock: () => number,
): IdentifyCaller {
  /** The verifier returns the same object for a remembered token, so its caller is made once. */
  const callers = new WeakMap<VerifiedToken, Caller>();

  function callerOf(token: VerifiedToken): Caller {
    const known = callers.get(token);
    if (known !== undefined) return known;
    const { issuer, subject, clientId, claims, claimsJson } = token;
    const principal = tokenPrincipalId(issuer, subject);
    const who = { principal, keyName: '', issuer: issuer.issuer, subject, clientId };
    const caller: Caller = { ...who, claims, claimsJson, verifiedBy: 'token' };
    callers.set(token, caller);
    return caller;
  }

  function judge(outcome: TokenOutcome, capability: string): Identified {
    switch (outcome.kind) {
      case 'refused':
        return refused(`the token is refused: ${outcome.failure}`);
      case 'unavailable':
        return { kind: 'unavailable', detail: `no keys of the issuer ${outcome.issuer.name} are known yet` };
      case 'verified': {
        const caller = callerOf(outcome);
        if (isTooOld(outcome, rules.maxAgeSeconds, wallClock()))
          return refused('the token is older than max_age', caller);
        if (!isGranted(outcome, capability))
          return refused('no grant of the issuer is for this call', caller);
        return { kind: 'known', caller };
      }
    }
  }

  return (metadata, capability) => {
    const { token } = metadata;
    if (verifier === undefined) return byGateway(metadata);
    if (token === undefined) {
      return rules.acceptsKeys
        ? keyByGateway(metadata)
        : refused('there is no token, and API keys are refused');
    }
    const outcome = verifier.verify(token);
    if (outcome instanceof Promise) return outcome.then((verified) => judge(verified, capability));
    return judge(outcome, capability);
  };
}

function isTooOld({ issuedAt }: VerifiedToken, maxAge: number | undefined, nowMs: number): boolean {
  if (maxAge === undefined) return false;
  return issuedAt === undefined || nowMs / 1000 - issuedAt > maxAge + AGE_SLACK_SECONDS;
}

/** The gateway alone decides what tokens of an issuer without grants may call. */
function isGranted({ issuer, grants }: VerifiedToken, capability: string): boolean {
  if (issuer.grants.length === 0) return true;
  return grants.some((index) => {
    const capabilities = issuer.grants[index]?.capabilities;
    return capabilities === '*' || capabilities?.has(capability) === true;
  });
}

/** Believes the gateway about keys and tokens. */
function byGateway(metadata: Metadata): Identified {
  const {
    principal,
    issuer = '',
    subject = '',
    client_id: clientId = '',
    api_key_name: name = '',
  } = metadata;
  if (principal === undefined) return refused('the gateway does not say who calls');
  const isKey = issuer === '' && subject === '';
  return withClaims(metadata, { principal, keyName: isKey ? name : '', issuer, subject, clientId });
}

/** Believes the gateway about API keys only: it could claim any token. */
function keyByGateway(metadata: Metadata): Identified {
  const { principal, api_key_name: keyName = '' } = metadata;
  if (keyName === '' || principal?.startsWith('key:') !== true)
    return refused('there is no token, and the gateway does not say which API key calls');
  return withClaims(metadata, { principal, keyName, issuer: '', subject: '', clientId: '' });
}

function withClaims(
  { claims: text }: Metadata,
  who: Omit<Caller, 'claims' | 'claimsJson' | 'verifiedBy'>,
): Identified {
  const parsed = text === undefined ? NO_CLAIMS : parseClaims(parseJson(text));
  if (!parsed.ok) return refused('the claims that the gateway sends cannot be read');
  const { claims, json } = parsed;
  return { kind: 'known', caller: { ...who, claims, claimsJson: json, verifiedBy: 'gateway' } };
}

const NO_CLAIMS = { ok: true, claims: {}, json: '{}' } as const;

function parseJson(text: string): unknown {
  try {
    return parseStrictJson(Buffer.from(text));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return undefined;
  }
}

function refused(detail: string, caller?: Caller): Identified {
  return { kind: 'refused', detail, ...(caller === undefined ? {} : { caller }) };
}
