import type { Environment } from '@svc/gateway';
import { LOCAL_LINK } from '../local-link/local-settings.ts';

/** Settings of links, which a gateway with its own agent does not have. */
const OF_LINKS = [
  'GATEWAY_AGENT_PUBLIC_KEY',
  'GATEWAY_AGENT_URLS',
  'GATEWAY_AGENT_WAIT',
  'GATEWAY_READY_AFTER',
  'GATEWAY_REPLICAS',
  'GATEWAY_LINKS_PER_REPLICA',
  'GATEWAY_MAX_AGENT_LINKS',
];
const KEYS = ['GATEWAY_API_KEYS_JSON', 'GATEWAY_API_KEYS_FILE', 'GATEWAY_ISSUERS_JSON'];
const ADDRESS = '127.0.0.1:8080';

export interface ServeSettings {
  readonly env: Environment;
  /** Whether no setting says who may call. */
  readonly hasNoKeys: boolean;
  readonly warnings: readonly string[];
  readonly faults: readonly string[];
}

/** The settings of the gateway as it runs with an agent of its own, whose key is `agentPublicKey`. */
export function settingsFor(env: Environment, agentPublicKey: string): ServeSettings {
  const isSet = (name: string): boolean => (env[name] ?? '') !== '';
  const ignored = OF_LINKS.filter(isSet);
  const workers = env['GATEWAY_WORKERS'] ?? '';
  return {
    env: {
      ...Object.fromEntries(Object.entries(env).filter(([name]) => !OF_LINKS.includes(name))),
      GATEWAY_ADDR: isSet('GATEWAY_ADDR') ? env['GATEWAY_ADDR'] : ADDRESS,
      GATEWAY_AGENT_PUBLIC_KEY: agentPublicKey,
      // Without one, a warning says that agents are accepted whatever URL they dialled.
      GATEWAY_AGENT_URLS: LOCAL_LINK.url,
    },
    hasNoKeys: !KEYS.some(isSet),
    warnings: ignored.map(
      (name) => `${name} is ignored: the agent is part of this process, and none connects`,
    ),
    faults: [
      ...(isSet('GATEWAY_SERVICES_FILE')
        ? [
            'GATEWAY_SERVICES_FILE: `svc serve` serves one capability file; run svc-gateway for several services',
          ]
        : []),
      ...(workers !== '' && workers !== '1'
        ? ['GATEWAY_WORKERS: `svc serve` is one process; run svc-gateway for several']
        : []),
    ],
  };
}

/** Whether only this machine reaches the address. */
export function isLoopback(host: string | undefined): boolean {
  return host !== undefined && /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/.test(host);
}
