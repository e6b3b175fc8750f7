import type { Keys, KeyUse, OfferedCapability } from '@svc/console/data';
import { DEFAULT_SERVICE } from '@svc/protocol';
import type { ConsoleKey, ConsoleState } from './console-state.ts';

export function keys(state: ConsoleState): Keys {
  const { offers } = state.history;
  const offered = new Map(offers.map(({ service, capabilities }) => [service, new Set(capabilities)]));
  return {
    keys: state.keys.map((key) => useOf(state, key, offered.get(key.service ?? DEFAULT_SERVICE))),
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
  key: ConsoleKey,
  offered: ReadonlySet<string> | undefined,
): KeyUse {
  const { service, name, keyId, permissions, expiresAtMs } = key;
  const use = history.useOf(service ?? '', name);
  return {
    name,
    key_id: keyId,
    service,
    permissions: permissions ?? [],
    unknown_permissions: (permissions ?? []).filter((permission) => offered?.has(permission) !== true),
    wildcard: permissions === undefined,
    // The clock may have been ahead then.
    last_used: use && new Date(Math.min(use.last.timeMs, nowMs)).toISOString(),
    calls: use?.requests ?? 0,
    expires_at: expiresAtMs === undefined ? undefined : new Date(expiresAtMs).toISOString(),
  };
}
