// What a program may use that has the gateway in its own process.
export { createOwnAgent, type OwnAgent } from './agents/own-agent.ts';
export { callToGiveWay } from './agents/give-way.ts';
export type { AgentOutcome, AgentRequest, OwnLink } from './agents/callable-link.ts';
export { createRegistry } from './agents/registry.ts';
export { answerItems, BATCH_MAX } from './api/mcp/batch.ts';
export { ACCEPTED, errorAnswer, onOneLine, type Answer } from './api/mcp/protocol/answer.ts';
export {
  badRequest,
  cancelledIdOf,
  idOf,
  isObject,
  loggedMethod,
  parseJson,
  readMessage,
  RPC,
  RpcError,
  type Message,
} from './api/mcp/protocol/message.ts';
export { createRevisions, type Era, type Revisions } from './api/mcp/protocol/revisions.ts';
export { plainId, type CancellableCall } from './api/mcp/sessions.ts';
export { createServeMessage, type ServeMessage } from './api/mcp/serve-message.ts';
export type { Transport } from './api/mcp/transport.ts';
export { createVerifier } from './auth/api-keys/verifier.ts';
export { createKey } from './auth/api-keys/create-key.ts';
export { isCapabilityName, isKeyName, KEY_NAME_ACCEPTED } from './auth/api-keys/key-form.ts';
export { createCallCapability } from './calls/call-capability.ts';
export { createPermitCall } from './calls/permit-call.ts';
export { createCatalog } from './catalog/catalog.ts';
export { parseClaimFlags } from './cli/arguments.ts';
export { createOnlyProcess } from './cluster/replica.ts';
export { readEnvFile } from './config/env-file.ts';
export {
  loadConfig as loadGatewayConfig,
  loadMessageSettings,
  loadServices,
  type LoadedServices,
} from './config/load.ts';
export { MCP_REVISIONS } from './config/mcp-revisions.ts';
export type { GatewayConfig } from './config/model.ts';
export type { Environment, ReadFile } from './config/read-settings.ts';
export { CallerGone } from './core/call-error.ts';
export type { Permissions } from './core/permission.ts';
export type { ApiKeyPrincipal } from './core/principal.ts';
export { startGateway, type RunningGateway } from './gateway.ts';
export type { CallLog } from './http/exchange.ts';
export { bytesOf } from './http/response-writer.ts';
export { openFilesWarning } from './http/connection/limit-connections.ts';
export {
  createLog as createGatewayLog,
  endAtUncaughtErrors,
  type Log as GatewayLog,
} from './telemetry/log.ts';
