import type { Issuer } from '@svc/identity';
import type { ServiceEntry } from './services-file.ts';

/** Each unknown key is compared with every record without `key_id`. */
const MANY_WITHOUT_ID = 10;

/** The setting that has the keys of the default service. */
export type KeysIn = 'GATEWAY_API_KEYS_JSON' | 'GATEWAY_API_KEYS_FILE';

/** Warnings about issuers that are accepted but probably not meant. The first service is the default one. */
export function issuerWarnings(
  services: readonly ServiceEntry[],
  issuersInFile: (service: ServiceEntry) => boolean,
): readonly string[] {
  return services.flatMap((service) => {
    const { id, issuers } = service;
    if (issuers === undefined || issuers.issuers.length === 0) return [];
    const place = issuersInFile(service) ? `GATEWAY_SERVICES_FILE: service "${id}"` : 'GATEWAY_ISSUERS_JSON';
    return [...issuers.warnings, ...withoutGrants(issuers.issuers)].map((warning) => `${place}: ${warning}`);
  });
}

/** Only a gateway's issuers need grants: an agent's grants narrow what its gateway permits. */
function withoutGrants(issuers: readonly Issuer[]): readonly string[] {
  return issuers
    .filter(({ grants }) => grants.length === 0)
    .map(({ name }) => `the issuer ${name} has no grants, so its tokens may call nothing; add some`);
}

/** Warnings about keys that are accepted but probably not meant. */
export function keyWarnings(
  services: readonly ServiceEntry[],
  keysIn: KeysIn,
  hasServicesFile: boolean,
): readonly string[] {
  return services.flatMap(({ id, keys, agentPublicKeys, issuers }) => {
    const name = hasServicesFile ? `the service "${id}"` : keysIn;
    const warnings: string[] = [];
    if (keys.length === 0 && (issuers?.issuers.length ?? 0) === 0) {
      const records = hasServicesFile ? 'API keys and no issuers' : 'records';
      warnings.push(
        `${name} has no ${records}, so every call is refused; add one with svc-gateway create-key`,
      );
    }
    if (agentPublicKeys.length === 0) {
      warnings.push(
        `${name} has no agent keys, so no agent can connect; add one with svc-gateway create-agent-secret`,
      );
    }
    const withoutId = keys.filter(({ keyId }) => keyId === undefined).length;
    if (withoutId > MANY_WITHOUT_ID) {
      warnings.push(
        `${name} has ${withoutId} records without key_id, so each unknown key costs up to ${withoutId} ` +
          'bcrypt comparisons; replace them with keys from svc-gateway create-key, which cost one at most',
      );
    }
    return warnings;
  });
}
