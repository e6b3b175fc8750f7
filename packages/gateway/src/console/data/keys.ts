import type { Keys, KeyUse, OfferedCapability } from '@svc/console/data';
import type { ConsoleKey, ConsoleState } from './console-state.ts';

export function keys(state: ConsoleState): Keys {
  const { offers } = state.history;
  const offered = new Map(offers.map(({ service, capabilities }) => [service, new Set(capabilities)]));
  return {
    keys: state.services.flatMap(({ id, keys: records }) =>
      records.map((record) =>
        useOf(state, record, state.severalServices ? id : undefined, offered.get(id) ?? new Set()),
      ),
    ),
    capabilities: offers.flatMap(({ service, capabilities }) =>
      capabilities.map((name): OfferedCapability => ({
        name,
        service: state.severalServices ? service : undefined,
      })),
    ),
  };
}

function useOf(
  { history, nowMs }: ConsoleState,
  { name, keyId, capabilities, expiresAtMs }: ConsoleKey,
  service: string | undefined,
  offered: ReadonlySet<string>,
): KeyUse {
  const use = history.useOf(service ?? '', name);
  const permissions = capabilities === '*' ? [] : [...capabilities];
  return {
    name,
    key_id: keyId,
    service,
    permissions,
    unknown_permissions: permissions.filter((permission) => !offered.has(permission)),
    wildcard: capabilities === '*',
    // The clock may have been set back since.
    last_used: use && new Date(Math.min(use.last.timeMs, nowMs)).toISOString(),
    calls: use?.requests ?? 0,
    expires_at: expiresAtMs === undefined ? undefined : new Date(expiresAtMs).toISOString(),
  };
}
