export * from './handshake/audience.ts';
export {
  AGENT_ERROR_CODES,
  agentErrorText,
  CALL_ERRORS,
  isLinkErrorCode,
  LINK_ERRORS,
  neverBegan,
  type AgentErrorCode,
  type CallErrorCode,
} from './rules/errors.ts';
export { CLOSE, CLOSE_MEANINGS, ProtocolError, type CloseCode } from './rules/close-code.ts';
export * from './frames/description.ts';
export * from './handshake/ed25519.ts';
export { joinPieces, receiveBody, type Body } from './frames/body.ts';
export { decodeMessage } from './frames/decode.ts';
export { encodeFrame } from './frames/encode.ts';
export type {
  CursorFrame,
  DatabasesFrame,
  DatabaseState,
  DataFrame,
  ErrorFrame,
  FleetFrame,
  Frame,
  Metadata,
  RequestFrame,
  ResultFrame,
} from './frames/frame.ts';
export * from './handshake/messages.ts';
export { signTranscript, signedBytes, verifyTranscript, type Transcript } from './handshake/signature.ts';
export * from './rules/limits.ts';
export { createCallTable } from './link/call-table.ts';
export * from './link/link.ts';
export type { SendQueue } from './link/send-queue.ts';
export { rawItems, rawMember, rawMembers } from './json/raw-json.ts';
export { printJsonInSlices, parseStrictJsonInSlices } from './json/sliced-json.ts';
export { JSON_DEPTH_MAX, JsonError, parseStrictJson, readStrictJson } from './json/strict-json.ts';
export { localSocket, receiveMessages } from './link/local-socket.ts';
export { linkSocket } from './link/websocket.ts';
