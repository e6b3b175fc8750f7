// What a program may use that has the gateway in its own process.
export { createKey } from './auth/api-keys/create-key.ts';
export { createVerifier } from './auth/api-keys/verifier.ts';
export { createOnlyProcess } from './cluster/replica.ts';
export { readEnvFile } from './config/env-file.ts';
export { loadConfig as loadGatewayConfig, loadServices, type LoadedServices } from './config/load.ts';
export type { GatewayConfig } from './config/model.ts';
export type { Environment, ReadFile } from './config/read-settings.ts';
export { startGateway } from './gateway.ts';
export { openFilesWarning } from './http/connection/limit-connections.ts';
export {
  createLog as createGatewayLog,
  endAtUncaughtErrors,
  type Log as GatewayLog,
} from './telemetry/log.ts';
