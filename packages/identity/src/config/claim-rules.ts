import { CAPABILITY_NAME_PATTERN } from '@svc/protocol';
import { isExactNumber } from '../model/claims.ts';
import type { ClaimPath } from '../model/claims.ts';
import type { Grant, RequiredClaim } from '../model/issuer.ts';
import { isObject } from '../model/json-object.ts';
import type { Place } from './problem.ts';
import {
  ONE_SCOPE,
  readList,
  readText,
  readTexts,
  refuseUnknownFields,
  type TextRule,
} from './read-value.ts';

const FEW = { least: 1, most: 64 };
const PATH_ACCEPTED =
  'the name of a claim, dots and all, or a list of names for one inside others, like ["realm_access", "roles"]';
const CAPABILITY_NAME = new RegExp(CAPABILITY_NAME_PATTERN);
const CAPABILITY: TextRule = {
  test: (text) => CAPABILITY_NAME.test(text),
  accepted: 'the name of a capability, or ["*"] for all',
};
export const CLAIM_NAME: TextRule = {
  test: (text) => /^[a-z][a-z0-9_]{0,62}$/.test(text),
  accepted: 'a name of a lower-case letter, then up to 62 lower-case letters, digits or _',
};

export function readGrants(value: unknown, place: Place): readonly Grant[] {
  if (value === undefined) return [];
  return readList(value, place, { least: 0, most: 1000 }).map((entry, index) =>
    readGrant(entry, place.at(index)),
  );
}

function readGrant(entry: unknown, place: Place): Grant {
  const grant = isObject(entry) ? entry : {};
  const accepted = '{"capabilities", "scope"} or {"capabilities", "claim", "value"}';
  if (!isObject(entry)) place.fault(`is not an object; accepted: ${accepted}`);
  else if ((grant['scope'] === undefined) === (grant['claim'] === undefined)) {
    place.fault(`needs either scope or claim; accepted: ${accepted}`);
  }
  refuseUnknownFields(grant, ['capabilities', 'scope', 'claim', 'value'], place);
  const capabilities = isObject(entry)
    ? readCapabilities(grant['capabilities'], place.at('capabilities'))
    : '*';
  if (grant['claim'] === undefined) {
    if (grant['value'] !== undefined) place.at('value').fault('belongs to claim; with scope leave it out');
    const scope = grant['scope'] === undefined ? '' : readText(grant['scope'], place.at('scope'), ONE_SCOPE);
    return { capabilities, condition: { kind: 'scope', scope } };
  }
  const path = readClaimPath(grant['claim'], place.at('claim'));
  return {
    capabilities,
    condition: { kind: 'claim', path, value: readScalar(grant['value'], place.at('value')) },
  };
}

function readCapabilities(value: unknown, place: Place): Grant['capabilities'] {
  if (Array.isArray(value) && value.length === 1 && value[0] === '*') return '*';
  return new Set(readTexts(value, place, { least: 1, most: 10_000 }, CAPABILITY));
}

/** An object of names and values, or a list where a path has several names. */
export function readRequiredClaims(value: unknown, place: Place): readonly RequiredClaim[] {
  if (value === undefined) return [];
  if (isObject(value)) {
    return Object.entries(value).map(([name, values]) => {
      const own = place.at(name);
      return { path: [name], values: readScalars(values, own) };
    });
  }
  if (!Array.isArray(value)) {
    place.fault('is not accepted; accepted: {"<claim>": <value>} or [{"claim": <path>, "value": <value>}]');
  }
  return Array.isArray(value) ? value.map((entry, index) => readRequiredClaim(entry, place.at(index))) : [];
}

function readRequiredClaim(entry: unknown, place: Place): RequiredClaim {
  if (!isObject(entry)) {
    place.fault('is not an object; accepted: {"claim": <path>, "value": <value or list of values>}');
    return { path: [], values: [] };
  }
  refuseUnknownFields(entry, ['claim', 'value'], place);
  return {
    path: readClaimPath(entry['claim'], place.at('claim')),
    values: readScalars(entry['value'], place.at('value')),
  };
}

/** What of a token goes on: names of ours, each with the path of a claim. */
export function readClaimPaths(value: unknown, place: Place): ReadonlyMap<string, ClaimPath> {
  if (value === undefined) return new Map();
  if (!isObject(value)) {
    place.fault('is not an object; accepted: {"<name>": <path>}');
    return new Map();
  }
  const entries = Object.entries(value);
  if (entries.length > FEW.most) place.fault(`has ${entries.length} names; accepted: at most ${FEW.most}`);
  return new Map(
    entries.map(([name, path]) => {
      readText(name, place.at(name), CLAIM_NAME);
      return [name, readClaimPath(path, place.at(name))];
    }),
  );
}

function readClaimPath(value: unknown, place: Place): ClaimPath {
  if (Array.isArray(value)) return readTexts(value, place, { least: 1, most: 16 });
  if (typeof value !== 'string' || value === '') {
    place.fault(`is ${value === undefined ? 'missing' : 'not accepted'}; accepted: ${PATH_ACCEPTED}`);
    return [];
  }
  return [readText(value, place)];
}

function readScalars(value: unknown, place: Place): RequiredClaim['values'] {
  if (!Array.isArray(value)) return [readScalar(value, place)];
  return readList(value, place, FEW).map((item, index) => readScalar(item, place.at(index)));
}

function readScalar(value: unknown, place: Place): string | number | boolean {
  if (typeof value === 'string') return readText(value, place);
  if (typeof value === 'boolean' || (typeof value === 'number' && isExactNumber(value))) return value;
  place.fault(
    `is ${value === undefined ? 'missing' : 'not accepted'}; accepted: a text, a number, true or false`,
  );
  return '';
}
