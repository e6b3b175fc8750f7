import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { CallErrorCode } from '@svc/protocol';
import type { CallerRecord, Observe } from '../../telemetry/events.ts';
import type { SourceDecision, SourcePolicy } from '../../access/source-policy.ts';
import { errorResponse } from '../../core/call-error.ts';
import { whenKnown } from '../../core/when-known.ts';

/** Time for a client to read why it was refused. */
const REFUSED_LINGER_MS = 1000;

interface UnparsableOptions {
  readonly observe: Observe;
  readonly unknownService: '' | undefined;
  readonly unknownCaller: CallerRecord | undefined;
}

interface Fault {
  /** HTTP has statuses that our codes do not tell apart. */
  readonly status: number;
  readonly code: CallErrorCode;
  readonly message: string;
}

/** What the HTTP parser of Node.js or its timers report; undefined when the connection broke or spoke no TLS. */
export function parserFault({ code = '' }: NodeJS.ErrnoException): Fault | undefined {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return { status: 408, code: 'GATEWAY_REQUEST_TIMEOUT', message: 'the request did not arrive in time' };
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return { status: 431, code: 'GATEWAY_INVALID_REQUEST', message: 'the headers are too large' };
  }
  if (!code.startsWith('HPE_')) return undefined;
  return { status: 400, code: 'GATEWAY_INVALID_REQUEST', message: 'the request is malformed' };
}

/**
 * Answers and records what never became a request. Its headers are unknown, so the peer of the connection counts as its
 * source. A peer that sent nothing gets no answer.
 */
export function createRefuseUnparsable(
  sourcePolicy: SourcePolicy,
  options: UnparsableOptions,
): (fault: Fault, socket: Duplex) => void {
  function refuse(fault: Fault, socket: Duplex, { address, refusal }: SourceDecision): void {
    const { code, message } = refusal ?? fault;
    const response = errorResponse(code, message);
    const status = refusal === undefined ? fault.status : response.status;
    const requestId = randomUUID();
    options.observe({
      event: 'request',
      request_id: requestId,
      api_key_name: '',
      capability: '',
      http_status: status,
      method: '',
      route: '',
      source: address,
      duration_ms: 0,
      error_code: code,
      service: options.unknownService,
      ...options.unknownCaller,
    });
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
      'X-Content-Type-Options: nosniff',
      'Cache-Control: no-store',
      `X-Request-Id: ${requestId}`,
      'Content-Type: application/json',
      `Content-Length: ${response.body.length}`,
      'Connection: close',
    ];
    const [name, value] = refusal?.headers ?? [];
    if (name !== undefined && value !== undefined) head.push(`${name}: ${value}`);
    setTimeout(() => socket.destroy(), REFUSED_LINGER_MS).unref();
    socket.end(`${head.join('\r\n')}\r\n\r\n${response.body.toString()}`);
  }

  return (fault, socket) => {
    const from = socket instanceof Socket && socket.bytesRead > 0 ? socket.remoteAddress : undefined;
    if (from === undefined || !socket.writable) {
      socket.destroy();
      return;
    }
    void whenKnown(sourcePolicy(from, []), (decision) => refuse(fault, socket, decision));
  };
}
