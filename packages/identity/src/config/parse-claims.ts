import { CLAIMS_JSON_MAX_BYTES, type Claims, type ClaimValue } from '../model/claims.ts';
import { asClaimValue } from '../model/claims.ts';
import { CLAIM_NAME } from './claim-rules.ts';
import { isObject } from '../model/json-object.ts';
import { createPlace, type Problem } from './problem.ts';
import { readText } from './read-value.ts';

export type ParsedClaims =
  /** `json` is what `claims` are as JSON. */
  | { readonly ok: true; readonly claims: Claims; readonly json: string }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export function parseClaims(value: unknown): ParsedClaims {
  const problems: Problem[] = [];
  const place = createPlace(problems);
  // A claim named like a method of objects must not be there without being given.
  const claims: Record<string, ClaimValue> = Object.create(null);
  if (!isObject(value)) place.fault('is not an object; accepted: {"<name>": <value>}');
  for (const [name, given] of Object.entries(isObject(value) ? value : {})) {
    readText(name, place.at(name), CLAIM_NAME);
    const claim = asClaimValue(given);
    if (claim === undefined) {
      const accepted = 'a text, a number, true, false or a list of texts, no text of them empty';
      place.at(name).fault(`is not accepted; accepted: ${accepted}`);
    } else claims[name] = claim;
  }
  const json = JSON.stringify(claims);
  if (Buffer.byteLength(json) > CLAIMS_JSON_MAX_BYTES) {
    place.fault(`is too long; accepted: at most ${CLAIMS_JSON_MAX_BYTES} bytes of JSON`);
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, claims, json };
}
