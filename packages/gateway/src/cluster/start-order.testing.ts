import { createRawKeyPair } from '@svc/protocol';
import { loadConfig } from '../config/load.ts';
import type { Environment } from '../config/read-settings.ts';
import type { StartOrder } from './messages.ts';

/** What the primary of a replica with these settings gives its workers. */
export function startOrder(env: Environment = {}): StartOrder {
  const loaded = loadConfig(
    { GATEWAY_AGENT_PUBLIC_KEY: createRawKeyPair().publicKey, GATEWAY_API_KEYS_JSON: '[]', ...env },
    () => '',
  );
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults));
  return {
    config: loaded.config,
    replicaId: 'r1',
    sessionSecret: new Uint8Array([255, 0]),
    workers: 2,
    ageMs: 0,
  };
}
