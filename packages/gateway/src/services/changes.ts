import { isDeepStrictEqual } from 'node:util';
import { agentKeyId, DEFAULT_SERVICE } from '@svc/protocol';
import type { ServiceConfig } from '../config/model.ts';
import type { ServiceChanges } from '../telemetry/events.ts';

/** Undefined if nothing has changed. */
export function changesBetween(
  before: readonly ServiceConfig[],
  after: readonly ServiceConfig[],
): ServiceChanges | undefined {
  if (isDeepStrictEqual(before, after)) return undefined;
  const keys = compare(before.flatMap(namedKeys), after.flatMap(namedKeys));
  const agentKeys = compare(before.flatMap(namedAgentKeys), after.flatMap(namedAgentKeys));
  const named = (services: readonly ServiceConfig[]): readonly Named[] =>
    services.map(({ id, tokens }) => [id, tokens]);
  const services = compare(named(before), named(after));
  return {
    keys_added: keys.added,
    keys_changed: keys.changed,
    keys_removed: keys.removed,
    agent_keys_added: agentKeys.added,
    agent_keys_removed: agentKeys.removed,
    services_added: services.added,
    services_removed: services.removed,
    issuers_changed: services.changed,
  };
}

type Named = readonly [name: string, value: unknown];

function namedKeys({ id, keys }: ServiceConfig): readonly Named[] {
  return keys.map((record) => [inService(id, record.name), record]);
}

/** Named by their ids, as in other log records. */
function namedAgentKeys({ id, agentPublicKeys }: ServiceConfig): readonly Named[] {
  return agentPublicKeys.map((key) => [inService(id, agentKeyId(key)), true]);
}

function inService(service: string, name: string): string {
  return service === DEFAULT_SERVICE ? name : `${service}/${name}`;
}

function compare(
  before: readonly Named[],
  after: readonly Named[],
): Readonly<Record<'added' | 'changed' | 'removed', string | undefined>> {
  const [old, recent] = [new Map(before), new Map(after)];
  const listed = (names: readonly Named[], wanted: (name: string) => boolean): string | undefined => {
    const found = names.map(([name]) => name).filter(wanted);
    return found.length === 0 ? undefined : [...new Set(found)].join(', ');
  };
  return {
    added: listed(after, (name) => !old.has(name)),
    changed: listed(after, (name) => old.has(name) && !isDeepStrictEqual(old.get(name), recent.get(name))),
    removed: listed(before, (name) => !recent.has(name)),
  };
}
