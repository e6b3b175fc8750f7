import type { CallErrorCode } from '@svc/protocol';

/** JSON-RPC 2.0, section 5.1, and those that revision 2026-07-28 adds. */
export const RPC = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  headerMismatch: -32020,
  unsupportedProtocolVersion: -32022,
} as const;

/** A request that JSON-RPC answers with an error; `message` is public. */
export class RpcError extends Error {
  readonly code: number;
  readonly status: number;
  readonly data: unknown;
  readonly logCode: CallErrorCode;
  constructor(
    code: number,
    message: string,
    options: { readonly status?: number; readonly data?: unknown; readonly logCode?: CallErrorCode } = {},
  ) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.status = options.status ?? 200;
    this.data = options.data;
    this.logCode = options.logCode ?? 'GATEWAY_INVALID_REQUEST';
  }
}
