import { nearestWithin, type Given } from '@svc/edge';
import {
  isCapabilityName,
  isKeyName,
  KEY_NAME_ACCEPTED,
  parseClaimFlags,
  type ApiKeyPrincipal,
  type Permissions,
} from '@svc/gateway/mcp';

export const LOCAL_NAME = 'local';

/** The one caller of this process, by the rules for API keys. */
export function readCaller(given: Given): ApiKeyPrincipal | { readonly problem: string } {
  const name = given.value('name') ?? LOCAL_NAME;
  if (!isKeyName(name)) return { problem: `--name is not accepted; accepted: ${KEY_NAME_ACCEPTED}` };
  const permissions = permissionsOf(given.value('capabilities') ?? '*');
  if ('problem' in permissions) return permissions;
  const parsed = parseClaimFlags(given.values('claim'));
  if (!parsed.ok) return { problem: parsed.problem };
  const { claims } = parsed;
  return {
    kind: 'api_key',
    id: `key:${name}`,
    name,
    permissions: permissions.permissions,
    claims: claims ?? {},
    claimsJson: claims === undefined ? '' : JSON.stringify(claims),
  };
}

function permissionsOf(list: string): { readonly permissions: Permissions } | { readonly problem: string } {
  const names = list.split(',').map((item) => item.trim());
  if (names.length === 1 && names[0] === '*') return { permissions: '*' };
  const odd = names.find((name) => !isCapabilityName(name));
  if (odd === undefined) return { permissions: new Set(names) };
  const rule = 'names of lower-case letters, digits and _, separated by commas, or "*" alone';
  return { problem: `--capabilities: ${JSON.stringify(odd)} is not accepted; accepted: ${rule}` };
}

/** A line for each capability that is allowed and does not exist. */
export function unknownCapabilities(
  { permissions }: ApiKeyPrincipal,
  known: readonly string[],
): readonly string[] {
  if (permissions === '*') return [];
  return [...permissions]
    .filter((name) => !known.includes(name))
    .map((name) => {
      const close = nearestWithin(name, known);
      const hint = close === undefined ? '' : `: did you mean ${close}?`;
      return `--capabilities names ${name}, which does not exist${hint}`;
    });
}
