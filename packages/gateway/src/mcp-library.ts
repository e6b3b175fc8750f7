// What a program may use that serves MCP by itself, without the HTTP server of the gateway.
export { callToGiveWay } from './agents/give-way.ts';
export type { AgentOutcome, AgentRequest, OwnLink } from './agents/callable-link.ts';
export { createOwnAgent, type OwnAgent } from './agents/own-agent.ts';
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
export { createRevisions, WITH_BATCHES, type Era, type Revisions } from './api/mcp/protocol/revisions.ts';
export { createServeMessage, type ServeMessage } from './api/mcp/serve-message.ts';
export { plainId, type CancellableCall } from './api/mcp/sessions.ts';
export type { Transport } from './api/mcp/transport.ts';
export { isCapabilityName, isKeyName, KEY_NAME_ACCEPTED } from './auth/api-keys/key-form.ts';
export { createCallCapability } from './calls/call-capability.ts';
export { createPermitCall } from './calls/permit-call.ts';
export { createCatalog } from './catalog/catalog.ts';
export { parseClaimFlags } from './cli/claim-flags.ts';
export { MCP_REVISIONS } from './config/mcp-revisions.ts';
export { BODY_MAX_BYTES, loadMessageSettings } from './config/message-settings.ts';
export type { Environment } from './config/read-settings.ts';
export { CallerGone } from './core/call-error.ts';
export type { Permissions } from './core/permission.ts';
export type { ApiKeyPrincipal } from './core/principal.ts';
export { emptyCallLog, type CallLog } from './http/exchange.ts';
export { bytesOf } from './http/response-writer.ts';
