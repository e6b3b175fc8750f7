import { createAbort } from '@svc/edge';
import {
  CLOSE,
  createCallTable,
  ERROR_MESSAGE_MAX_BYTES,
  INITIAL_CREDIT_BYTES,
  joinPieces,
  PARAMS_MAX_BYTES,
  ProtocolError,
  receiveBody,
  RESULT_MAX_BYTES,
  type AgentErrorCode,
  type Body,
  type FleetFrame,
  type Frame,
  type Link,
  type LinkFrame,
  type RequestFrame,
} from '@svc/protocol';
import type { HandleCall } from '../calls/handle-call.ts';

/** The agent's side of one authenticated connection. */
export interface CallSession {
  receive(frame: LinkFrame): void;
  /** To be called when the link is lost: aborts its running calls. */
  ended(): void;
  readonly inFlight: number;
  /** Resolves once no call is in flight and every answer has left. */
  idle(): Promise<void>;
}

export interface LinkLoad {
  /** Calls whose answers have not left. */
  readonly calls: number;
  /** Bytes of answers that wait for credit or for the network. */
  readonly answerBytes: number;
  /** Bytes of parameters that were announced and have not arrived. */
  readonly arrivingBytes: number;
}

export interface CallSessionOptions {
  readonly link: () => Link;
  readonly handle: HandleCall;
  /** Whether the gateway takes cursors. */
  readonly hasCursors: boolean;
  readonly maxInflight: number;
  /** Those of all links of the agent; this session adds and removes its link's. */
  readonly loads: Set<LinkLoad>;
  /** The gateway will send no further call. */
  readonly onGoAway: () => void;
  /** Absent if the gateway lacks the feature. */
  readonly onFleet?: (frame: FleetFrame) => void;
}

/** Control frames that may wait unread, besides a credit and an error for each open call. */
const SPARE_CONTROLS = 4000;

interface Running {
  readonly abort: ReturnType<typeof createAbort>;
  readonly request: RequestFrame;
  /** Undefined if the request contained all parameters. */
  readonly body: Body | undefined;
}

export function createCallSession(options: CallSessionOptions): CallSession {
  const calls = createCallTable<Running>();
  const waiters: (() => void)[] = [];
  let lastId = 0;
  /** The sum for all calls is at most what one call may have. */
  let arrivingBytes = 0;

  function fail(id: number, code: AgentErrorCode, message: string, notStarted: boolean): void {
    control({ type: 'error', id, code, message: clip(message), notStarted });
  }

  function control(frame: Frame): void {
    const link = options.link();
    link.sendQueue.sendControl(frame);
    if (link.sendQueue.queuedControls > 2 * options.maxInflight + SPARE_CONTROLS)
      link.end(CLOSE.protocol_error, 'the gateway does not read');
  }

  /** An answer that the gateway has not taken yet counts like a running call: both hold memory. */
  const load: LinkLoad = {
    get calls() {
      return calls.size + options.link().sendQueue.queuedBodies;
    },
    get answerBytes() {
      return options.link().sendQueue.queuedBytes;
    },
    get arrivingBytes() {
      return arrivingBytes;
    },
  };
  options.loads.add(load);

  /** One link may have as many calls as the agent accepts; all links together have other bounds. */
  function isBusy(laterBytes: number): boolean {
    if (load.calls >= options.maxInflight) return true;
    let [ofAll, answerBytes, laterBytesOfAll] = [0, 0, laterBytes];
    for (const one of options.loads) {
      ofAll += one.calls;
      answerBytes += one.answerBytes;
      laterBytesOfAll += one.arrivingBytes;
    }
    // Running and waiting calls are bounded fairly among callers elsewhere; there may be as many answers again.
    return (
      ofAll >= 2 * options.maxInflight || answerBytes > RESULT_MAX_BYTES || laterBytesOfAll > PARAMS_MAX_BYTES
    );
  }

  function onRequest(request: RequestFrame): void {
    const { id, paramsLength } = request;
    if (id <= lastId) throw new ProtocolError('call ids must grow');
    lastId = id;
    const later = paramsLength - request.params.length;
    if (isBusy(later)) {
      fail(id, 'AGENT_BUSY', 'the agent has as many calls as it takes, try again shortly', true);
      return;
    }
    const abort = createAbort();
    if (request.fin) {
      const running: Running = { abort, request, body: undefined };
      calls.add(id, running);
      start(id, running, request.params);
      return;
    }
    const body = receiveBody(paramsLength);
    body.add(request.params, false);
    calls.add(id, { abort, request, body });
    arrivingBytes += later;
    const beyondWindow = paramsLength - INITIAL_CREDIT_BYTES;
    if (beyondWindow > 0) control({ type: 'credit', id, bytes: beyondWindow });
  }

  function start(id: number, running: Running, params: Uint8Array): void {
    const { capability, timeoutMs, metadata } = running.request;
    const call = { capability, params, timeoutMs, metadata, signal: running.abort.signal };
    void options.handle(call).then((outcome) => {
      // The call was cancelled, or the link was lost: nothing waits for the outcome.
      if (calls.get(id) !== running) {
        if (outcome.kind === 'result') outcome.release();
        return;
      }
      calls.delete(id);
      if (outcome.kind === 'error') fail(id, outcome.code, outcome.message, outcome.notStarted);
      else {
        const { count, truncated, rows, release, cursor } = outcome;
        if (cursor !== undefined && options.hasCursors) control({ type: 'cursor', id, cursor });
        options.link().sendQueue.sendBody({ type: 'result', id, count, truncated }, rows, release);
      }
      wakeIfIdle();
    });
  }

  function forget(id: number, running: Running): void {
    calls.delete(id);
    arrivingBytes -= running.body?.missing ?? 0;
    running.abort.abort();
  }

  function wakeIfIdle(): void {
    if (calls.size > 0) return;
    for (const wake of waiters.splice(0)) wake();
  }

  return {
    receive(frame) {
      switch (frame.type) {
        case 'request':
          return onRequest(frame);
        case 'go_away':
          return options.onGoAway();
        case 'fleet':
          if (options.onFleet === undefined) throw new ProtocolError('fleet frame without its feature');
          return options.onFleet(frame);
        case 'result':
        case 'error':
        case 'databases':
        case 'cursor':
          throw new ProtocolError(`a gateway must not send ${frame.type}`);
        case 'data':
        case 'cancel':
        case 'credit':
      }
      if (frame.id > lastId) throw new ProtocolError('frame for a call that was never made');
      if (frame.type === 'credit') {
        options.link().sendQueue.addCredit(frame.id, frame.bytes);
        return;
      }
      const running = calls.get(frame.id);
      if (frame.type === 'cancel') {
        if (running !== undefined) forget(frame.id, running);
        options.link().sendQueue.cancelBody(frame.id);
        wakeIfIdle();
        return;
      }
      // The call was refused or cancelled while its parameters were arriving.
      if (running === undefined) return;
      const { body } = running;
      if (body === undefined) throw new ProtocolError('data after the end of its parameters');
      arrivingBytes -= frame.bytes.length;
      if (body.add(frame.bytes, frame.fin)) start(frame.id, running, joinPieces(body.pieces));
    },
    ended() {
      options.loads.delete(load);
      for (const [id, running] of calls.entries()) forget(id, running);
      wakeIfIdle();
    },
    get inFlight() {
      return calls.size;
    },
    async idle() {
      if (calls.size > 0) await new Promise<void>((resolve) => waiters.push(resolve));
      await options.link().sendQueue.drained();
    },
  };
}

/** Cuts between characters so that the text stays UTF-8. */
function clip(message: string): string {
  return Buffer.byteLength(message) <= ERROR_MESSAGE_MAX_BYTES
    ? message
    : message.slice(0, ERROR_MESSAGE_MAX_BYTES / 4).replace(/[\uD800-\uDBFF]$/, '');
}
