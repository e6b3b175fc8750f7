import type { GatewayConfig } from '../../config/model.ts';
import type { ConsoleKey } from './console-state.ts';

/** The keys as they are shown: of what they could be checked by, nothing. */
export function configuredKeys(
  services: GatewayConfig['services'],
  hasServicesFile: boolean,
): readonly ConsoleKey[] {
  return services.flatMap(({ id, keys }) =>
    keys.map(({ name, keyId, capabilities, expiresAtMs }): ConsoleKey => ({
      service: hasServicesFile ? id : undefined,
      name,
      keyId,
      permissions: capabilities === '*' ? undefined : [...capabilities],
      expiresAtMs,
    })),
  );
}
