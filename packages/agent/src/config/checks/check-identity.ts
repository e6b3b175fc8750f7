import { parseDuration } from '@svc/edge';
import { parseIssuers } from '@svc/identity';
import { isRecord } from '../../capabilities/is-record.ts';
import type { FaultLog } from '../fault-log.ts';
import { valueAt, type Path } from '../path.ts';
import { gatewayUrlProblem, gatewayUrls, resourceOf } from '../gateway-url.ts';

const GREATEST_AGE_MS = 8760 * 60 * 60 * 1000;
/** These keys are about what callers send or see. */
const OF_SENT_PARAMETERS = ['required', 'default', 'description'];
const CLAIM = /^principal\.claims\.(.+)$/;
const TEXT_TYPES: ReadonlySet<unknown> = new Set(['string', 'uuid', 'date', 'datetime']);

/** Checks what a schema cannot express of `identity`. Returns warnings. */
export function checkIdentity(root: unknown, faults: FaultLog): readonly string[] {
  const identity = valueAt(root, ['identity']);
  if (!isRecord(identity)) return [];
  const { trust, api_keys: apiKeys, issuers, max_age: maxAge } = identity;
  if (trust === 'gateway' && issuers !== undefined) {
    const message = 'belongs to `trust: token`: under `trust: gateway` the gateway alone verifies tokens';
    faults.addForKey(['identity', 'issuers'], message);
  }
  if (trust === 'gateway' && apiKeys === 'refuse') {
    const message =
      'must be accept: under `trust: gateway` the word of the gateway counts for keys and tokens alike';
    faults.add(['identity', 'api_keys'], message);
  }
  if (trust === 'token' && issuers === undefined)
    faults.add(['identity', 'issuers'], 'is required under `trust: token`');
  const age = typeof maxAge === 'string' ? parseDuration(maxAge) : undefined;
  if (age !== undefined && !(age % 1000 === 0 && age >= 1000 && age <= GREATEST_AGE_MS))
    faults.add(['identity', 'max_age'], 'must be whole seconds, from 1s to 8760h');
  return trust === 'token' && Array.isArray(issuers) ? checkIssuers(root, issuers, faults) : [];
}

/** Stands for a URL at fault, which would otherwise be reported again as missing audiences. */
const PLACEHOLDER = 'https://unknown/mcp';

function checkIssuers(root: unknown, issuers: readonly unknown[], faults: FaultLog): readonly string[] {
  const urls = gatewayUrls(valueAt(root, ['gateway', 'url']));
  const areUsable = urls.length > 0 && urls.every((url) => gatewayUrlProblem(url) === undefined);
  const resource = areUsable ? resourceOf(urls) : PLACEHOLDER;
  const parsed = parseIssuers(issuers, { resource });
  if (parsed.ok) return parsed.warnings;
  for (const { path, message } of parsed.problems)
    faults.add(['identity', 'issuers', ...path.map(String)], message);
  return [];
}

/** The same for a parameter that is taken from who calls. */
export function checkPinned(root: unknown, path: Path, faults: FaultLog): void {
  const spec = valueAt(root, path);
  if (!isRecord(spec) || typeof spec['from'] !== 'string') return;
  const identity = valueAt(root, ['identity']);
  const from: Path = [...path, 'from'];
  if (identity === undefined)
    faults.addForKey(from, 'needs `identity`, which says whose word the agent takes for who calls');
  const notSent = 'does not go with `from`: callers neither send the parameter nor see it';
  for (const name of OF_SENT_PARAMETERS) if (name in spec) faults.addForKey([...path, name], notSent);
  checkType(spec, path, faults);
  if (isRecord(identity)) checkSource(identity, spec['from'], from, faults);
}

/** A type that no value fits would refuse every call. */
function checkType(spec: Readonly<Record<string, unknown>>, path: Path, faults: FaultLog): void {
  const { type, from, items } = spec;
  const isClaim = CLAIM.test(String(from));
  if (type === 'object')
    faults.add([...path, 'type'], 'no claim is an object: name one of its members in `claims`');
  else if (!isClaim && typeof type === 'string' && !TEXT_TYPES.has(type)) {
    faults.add([...path, 'type'], `must be string, uuid, date or datetime: \`${String(from)}\` is a text`);
  }
  const itemType = isRecord(items) ? items['type'] : undefined;
  if (isClaim && typeof itemType === 'string' && !TEXT_TYPES.has(itemType)) {
    const message = 'must be string, uuid, date or datetime: lists of claims hold texts';
    faults.add([...path, 'items', 'type'], message);
  }
}

/** Under `trust: token` without keys, the file tells everything that the agent can know of a caller. */
function checkSource(
  identity: Readonly<Record<string, unknown>>,
  source: string,
  from: Path,
  faults: FaultLog,
): void {
  const { trust, api_keys: apiKeys, issuers } = identity;
  if (trust !== 'token' || apiKeys === 'accept' || !Array.isArray(issuers)) return;
  if (source === 'principal.key_name') {
    const remedy = 'set `api_keys: accept`, or take something else';
    faults.add(from, `is never known: \`identity\` refuses API keys; ${remedy}`);
  }
  const claim = CLAIM.exec(source)?.[1];
  const maps: readonly unknown[] = issuers.map((issuer: unknown) => valueAt(issuer, ['claims']));
  if (claim === undefined || maps.some((map) => isRecord(map) && Object.hasOwn(map, claim))) return;
  faults.add(from, 'is never known: `claims` of no issuer in `identity.issuers` has this name');
}
