import { isDeepStrictEqual } from 'node:util';
import type { Fault } from '../capabilities/fault.ts';
import type { AgentConfig } from '../config/model.ts';
import { UNNAMED } from '../capabilities/database-names.ts';

/** What a running agent cannot take up: faults that say so, none where `after` differs in nothing but what it can. */
export function restartFaults(before: AgentConfig, after: AgentConfig): readonly Fault[] {
  const [old, recent] = [fixedOf(before), fixedOf(after)];
  return Object.keys(old)
    .filter((path) => !isDeepStrictEqual(old[path], recent[path]))
    .map((path) => ({
      path,
      message:
        'cannot be changed while the agent runs: restart the agent to take it up, or put back what was there',
    }));
}

/** By the path in the file. */
function fixedOf(config: AgentConfig): Readonly<Record<string, unknown>> {
  const { serviceId, runtime, gateway, databases, identity, logging, metricsListen, traces } = config;
  return {
    'service.id': serviceId,
    'runtime.workers': runtime.workers,
    'gateway.url': gateway.urls,
    'gateway.max_links': gateway.maxLinks,
    'gateway.resolve_interval': gateway.resolveIntervalMs,
    'gateway.agent_private_key': gateway.privateKeySeed,
    'gateway.ca_file': gateway.ca,
    'gateway.proxy': gateway.proxy,
    'gateway.proxy_ca_file': gateway.proxyCa,
    // Metrics have a label for each of several, and none for the only one.
    databases: !Object.hasOwn(databases, UNNAMED),
    identity: identity && { ...identity, issuerPositions: undefined },
    logging,
    'metrics.addr': metricsListen,
    // What is renewed in a file of headers is taken up with the next start.
    telemetry: traces && { ...traces, headers: undefined },
  };
}
