import type { AgentConfig } from '../config/model.ts';
import type { VerificationFault } from '../databases/driver/errors.ts';

export function configOf(service: Partial<AgentConfig['service']> = {}): AgentConfig {
  return {
    service: { title: 'Books', version: '1', description: '', ...service },
    runtime: { maxConcurrentRequests: 4, queueSize: 10, workers: 1, requireAllDatabases: false },
    gateway: {
      urls: ['ws://127.0.0.1:1/ws/agent'],
      maxLinks: 64,
      resolveIntervalMs: 10_000,
      privateKeySeed: new Uint8Array(32),
    },
    databases: { '': { driver: 'postgres', maxConnections: 2, requireReadonlyAccount: false } },
    logging: { output: 'file', maxSizeBytes: 1000, maxFiles: 2 },
    capabilities: [],
  };
}

export function capabilityFault(name: string): VerificationFault {
  return {
    path: `capabilities.${name}.sql`,
    message: 'is refused',
    detail: 'words of the database',
    position: { line: 3, column: 5 },
  };
}
