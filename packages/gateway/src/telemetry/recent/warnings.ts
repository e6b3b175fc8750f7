import type { Observe } from '../events.ts';

/** What an operator should look at now, according to the events of the gateway. */
export interface Warnings {
  readonly observe: Observe;
  readonly current: readonly string[];
}

const DIFFERENCES_MAX = 20;

/** `atStart`: those of the configuration. */
export function createWarnings(atStart: readonly string[]): Warnings {
  /** One for each pair of events that begins and ends it. */
  const states = new Map<string, string>();
  const differences = new Map<string, string>();

  return {
    observe(event) {
      switch (event.event) {
        case 'keys_reload_failed':
          states.set(
            'keys',
            `the files of keys and services are refused, so their earlier contents remain valid: ${event.message}`,
          );
          return;
        case 'keys_reloaded':
          states.delete('keys');
          return;
        case 'shared_limits_lost':
          states.set('valkey', `limits are not shared: ${event.message}`);
          return;
        case 'shared_limits_back':
          states.delete('valkey');
          return;
        case 'replicas_lookup_failed':
          states.set('replicas', `the replicas of ${event.name} cannot be counted: ${event.reason}`);
          return;
        case 'replicas_lookup_back':
          states.delete('replicas');
          return;
        case 'descriptions_differ':
          if (differences.size >= DIFFERENCES_MAX) return;
          differences.set(
            event.capability,
            `agents describe ${event.capability} differently; the newest counts`,
          );
          return;
        default:
      }
    },
    get current() {
      return [...atStart, ...states.values(), ...differences.values()];
    },
  };
}
