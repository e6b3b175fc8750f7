import { parseDuration } from '@svc/edge';
import { ALGORITHMS } from '../keys/algorithms.ts';
import type { Grant, Issuer, KeySource } from '../model/issuer.ts';
import { readClaimPaths, readGrants, readRequiredClaims } from './claim-rules.ts';
import { isObject, type JsonObject } from '../model/json-object.ts';
import { normalizeType } from '../model/token-type.ts';
import type { Place } from './problem.ts';
import {
  ANY_TEXT,
  ONE_SCOPE,
  readBoolean,
  readText,
  readTexts,
  refuseUnknownFields,
  type TextRule,
} from './read-value.ts';

const FIELDS: readonly string[] = [
  'name',
  'issuer',
  'audiences',
  'other_audiences',
  'audience_claim',
  'jwks_uri',
  'jwks_file',
  'algorithms',
  'types',
  'id_tokens',
  'required_claims',
  'max_lifetime',
  'grants',
  'claims',
  'scopes',
  'advertise',
  'log_subject',
];
const FEW = { least: 1, most: 64 };
const NAME: TextRule = {
  test: (text) => /^[a-z][a-z0-9_-]{0,31}$/.test(text),
  accepted: 'a lower-case letter, then up to 31 lower-case letters, digits, _ or -',
};
const ALGORITHM: TextRule = {
  test: (text) => ALGORITHMS.has(text),
  accepted: [...ALGORITHMS.keys()].join(', '),
};
const USUAL_ALGORITHMS: readonly string[] = ['RS256', 'PS256', 'ES256', 'EdDSA'];
const USUAL_TYPES: readonly string[] = ['at+jwt', 'jwt', ''];
const OTHER_TYPES: ReadonlySet<string> = new Set([
  'oauth-id-jag+jwt',
  'logout+jwt',
  'secevent+jwt',
  'dpop+jwt',
]);
const TYPE: TextRule = {
  test: (text) => /^[\x21-\x7e]{0,128}$/.test(text) && !OTHER_TYPES.has(normalizeType(text)),
  accepted: 'a type of access tokens like "at+jwt", or "" for tokens that name no type',
};
const AUDIENCE_CLAIM: TextRule = {
  test: (text) => ANY_TEXT.test(text) && !['aud', 'iss', 'sub'].includes(text),
  accepted: 'the claim in which tokens without "aud" name what they are for, like "client_id"',
};
const USUAL_LIFETIME_MS = 24 * 60 * 60_000;

/** Reads one record. What it returns counts only if no fault was reported. */
export function parseRecord(entry: unknown, place: Place, resource: string | undefined): Issuer | undefined {
  if (!isObject(entry)) {
    place.fault('is not an object; accepted: {"name", "issuer", "grants", ...}');
    return undefined;
  }
  refuseUnknownFields(entry, FIELDS, place);
  const keySource = readKeySource(entry, place);
  const grants = readGrants(entry['grants'], place.at('grants'));
  const list = (field: string, least: number, rule?: TextRule): readonly string[] | undefined =>
    entry[field] === undefined
      ? undefined
      : readTexts(entry[field], place.at(field), { least, most: FEW.most }, rule);
  const issuer: Issuer = {
    name: readText(entry['name'], place.at('name'), NAME),
    issuer: readIssuer(entry['issuer'], place.at('issuer'), keySource),
    audiences: readAudiences(entry, place, resource),
    audienceClaim: readAudienceClaim(entry, place),
    otherAudiences: list('other_audiences', 0),
    keySource,
    algorithms: [...new Set(list('algorithms', 1, ALGORITHM) ?? USUAL_ALGORITHMS)],
    types: list('types', 1, TYPE)?.map(normalizeType) ?? USUAL_TYPES,
    idTokens: readBoolean(entry['id_tokens'], place.at('id_tokens'), false),
    requiredClaims: readRequiredClaims(entry['required_claims'], place.at('required_claims')),
    maxLifetimeMs: readLifetime(entry['max_lifetime'], place.at('max_lifetime')),
    grants,
    claims: readClaimPaths(entry['claims'], place.at('claims')),
    scopes: list('scopes', 0, ONE_SCOPE) ?? scopesOf(grants),
    advertise: readBoolean(entry['advertise'], place.at('advertise'), true),
    logSubject: readBoolean(entry['log_subject'], place.at('log_subject'), true),
  };
  const claim = tellingClaim(issuer.issuer);
  // The issuer and the audience are the same for everybody.
  const isTelling = issuer.requiredClaims.some(({ path }) => path.join() !== 'iss' && path.join() !== 'aud');
  if (claim !== undefined && !isTelling) {
    const accepted = `claims that only yours have, like "${claim}"`;
    place
      .at('required_claims')
      .fault(`must be given, for this issuer gives tokens to everybody; accepted: ${accepted}`);
  }
  return issuer;
}

function readKeySource(record: JsonObject, place: Place): KeySource {
  const { jwks_uri: uri, jwks_file: file } = record;
  if (uri !== undefined && file !== undefined) {
    place.at('jwks_file').fault('stands beside jwks_uri; accepted: one of the two');
  }
  if (uri !== undefined) return { kind: 'uri', uri: readHttpsUrl(uri, place.at('jwks_uri')) };
  if (file !== undefined) return { kind: 'file', path: readText(file, place.at('jwks_file')) };
  return { kind: 'discovery' };
}

function readIssuer(value: unknown, place: Place, keySource: KeySource): string {
  const byDiscovery = keySource.kind === 'discovery' && value !== undefined;
  const issuer = byDiscovery ? readHttpsUrl(value, place) : readText(value, place);
  if (isEntraForAllTenants(issuer)) {
    place.fault(
      'is where every tenant of Entra signs in, and no token names it: each names the tenant that issued it; ' +
        'accepted: the issuer of one tenant, like https://login.microsoftonline.com/<tenant id>/v2.0',
    );
  }
  return issuer;
}

/** Anybody on the way could replace keys that come over http, even on loopback. */
function readHttpsUrl(value: unknown, place: Place): string {
  return readText(value, place, {
    test: isHttpsUrl,
    accepted: 'an https:// URL without credentials, query and fragment',
  });
}

function isHttpsUrl(text: string): boolean {
  if (!ANY_TEXT.test(text) || !URL.canParse(text)) return false;
  const url = new URL(text);
  return url.protocol === 'https:' && !/[?#\s]/.test(text) && url.username === '' && url.password === '';
}

function readAudiences(
  { audiences, audience_claim: claim }: JsonObject,
  place: Place,
  resource: string | undefined,
): readonly string[] {
  // Clients write the resource either way, and issuers copy what they write; in another claim it never stands.
  if (audiences === undefined && resource !== undefined && claim === undefined)
    return [resource, `${resource}/`];
  return readTexts(audiences, place.at('audiences'), FEW);
}

function readAudienceClaim(record: JsonObject, place: Place): string | undefined {
  const { audience_claim: claim, other_audiences: others } = record;
  if (claim === undefined) return undefined;
  if (others !== undefined) {
    place.at('other_audiences').fault('stands beside audience_claim; accepted: one of the two');
  }
  return readText(claim, place.at('audience_claim'), AUDIENCE_CLAIM);
}

function readLifetime(value: unknown, place: Place): number | undefined {
  if (value === undefined) return USUAL_LIFETIME_MS;
  if (value === 'none') return undefined;
  const duration = typeof value === 'string' ? parseDuration(value) : Number.NaN;
  if (duration > 0) return duration;
  place.fault('is not accepted; accepted: a duration like 1h, or none');
  return undefined;
}

function scopesOf(grants: readonly Grant[]): readonly string[] {
  const scopes = grants.flatMap(({ condition }) => (condition.kind === 'scope' ? [condition.scope] : []));
  return [...new Set(scopes)];
}

/** These issuers give a token to anybody, so their signature alone does not say who the caller is. */
const OPEN_TO_EVERYBODY: ReadonlyMap<string, string> = new Map([
  ['https://token.actions.githubusercontent.com', 'repository_owner_id'],
  ['https://gitlab.com', 'namespace_id'],
  ['https://accounts.google.com', 'hd'],
  ['accounts.google.com', 'hd'],
  // The tenant of all personal Microsoft accounts.
  ['https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0', 'sub'],
]);

const ENTRA_HOSTS: ReadonlySet<string> = new Set([
  'login.microsoftonline.com',
  'login.microsoftonline.us',
  'login.partner.microsoftonline.cn',
  'sts.windows.net',
]);
const ENTRA_ALL_TENANTS = /^\/(?:common|organizations|consumers|(?:\{|%7b).*)(?:\/|$)/i;

/** The claim that separates the operator's own tokens of a public issuer from all others; undefined for a private issuer. */
function tellingClaim(issuer: string): string | undefined {
  return OPEN_TO_EVERYBODY.get(issuer);
}

/** Whether this is the address where all tenants of Entra sign in. No token names it as its issuer. */
function isEntraForAllTenants(issuer: string): boolean {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  return url !== undefined && ENTRA_HOSTS.has(url.hostname) && ENTRA_ALL_TENANTS.test(url.pathname);
}
