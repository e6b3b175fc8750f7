import type { LinkOverride } from '../config/load.ts';
import type { AgentConfig } from '../config/model.ts';

/** Stands where the link of the workbench goes, whose port and key the process that checks the file does not know. */
export const WORKBENCH_LINK: LinkOverride = {
  url: 'ws://127.0.0.1/ws/agent',
  privateKey: Buffer.alloc(32).toString('base64url'),
};

/**
 * What of a file counts at the workbench: what its capabilities are and do. One process beside one gateway that serves
 * nobody else needs no workers, service, metrics and traces, which might stand in the way of an agent on the same machine.
 */
export function workbenchConfig({
  serviceId: _service,
  metricsListen: _metrics,
  traces: _traces,
  ...config
}: AgentConfig): AgentConfig {
  const { runtime, identity } = config;
  return {
    ...config,
    runtime: { ...runtime, workers: 1 },
    // The one key that the gateway knows is that of the workbench.
    ...(identity === undefined ? {} : { identity: { ...identity, acceptsKeys: true } }),
  };
}
