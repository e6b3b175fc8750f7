import {
  CALL_ID_MAX,
  CLOSE,
  CURSOR_FEATURE,
  DATABASES_FEATURE,
  DESCRIBE_CAPABILITY,
  FLEET_FEATURE,
  INITIAL_CREDIT_BYTES,
  ProtocolError,
  RESULT_MAX_BYTES,
  createCallTable,
  receiveBody,
  type Body,
  type CloseCode,
  type DatabaseState,
  type CursorFrame,
  type DataFrame,
  type Description,
  type ErrorFrame,
  type Link,
  type LinkFrame,
  type ManifestEntry,
  type ProtocolVersion,
  type ResultFrame,
} from '@svc/protocol';
import {
  capabilitiesOf,
  type OwnLink,
  type AgentOutcome,
  type AgentRequest,
  type AgentResult,
} from './callable-link.ts';
import { callToGiveWay } from './give-way.ts';
import { createAnswerRelay, type AnswerRelay, type RelayedAnswer } from './answer-relay.ts';
import type { ResultBudget } from './result-budget.ts';

/**
 * The agent session: one authenticated connection of an agent, and the calls that run over it. It is
 *   open      further calls may be sent, within the bounds of the agent and of the call ids;
 *   draining  the agent looks for another gateway, or has another session here: earlier calls are still answered.
 *             Only its `go_away` frame and `supersede` move an open session here;
 *   ended     the link is over and every call is settled. Only `ended` moves it here, from open or draining, once.
 * `call` still sends while draining: a call that was given to this session may cross the agent's frame.
 */
export interface AgentSession extends OwnLink {
  /** Of the description that the agent signed, in hex. */
  readonly manifestSha256: string;
  /** The features that agent and gateway have agreed on. */
  readonly features: readonly string[];
  /** Asks the agent for its description. `admit` may refuse its length before more than the beginning has arrived. */
  describe(timeoutMs: number, admit: (bytes: number) => void, settle: (outcome: AgentOutcome) => void): void;
  /** `listener` is called whenever the agent has reported its databases. */
  onDatabases(listener: (databases: readonly DatabaseState[]) => void): void;
  setDescription(description: Pick<Description, 'manifest' | 'identity'>): void;
  /** Like `call`, for another process of the replica: the answer is passed on as it arrives and not kept here. */
  relay(request: AgentRequest, answer: RelayedAnswer): RelayedCall;
  /** Tells an agent with that feature how many replicas and links there are now. */
  fleet(replicaCount: number, linksPerReplica: number): void;
  /** Tells the agent to look for another gateway; calls already accepted may still be sent. */
  goAway(reason: string): void;
  /** Another session of the same agent process takes calls in its place from now on. */
  supersede(reason: string): void;
  end(code: CloseCode, reason: string): void;
  /** From the link. */
  receive(frame: LinkFrame): void;
  /** From the link: settles all calls as lost. */
  ended(): void;
}

export interface RelayedCall {
  readonly cancel: () => void;
  /** The process of the caller takes more of the result. */
  readonly addCredit: (bytes: number) => void;
}

export interface SessionOptions {
  readonly connId: string;
  readonly instanceId: string;
  readonly manifestSha256: string;
  readonly features: readonly string[];
  readonly protocolVersion: ProtocolVersion;
  readonly identity: 'token' | 'gateway' | undefined;
  readonly maxInflight: number;
  readonly link: () => Link;
  readonly budget: ResultBudget;
  readonly onDraining: () => void;
}

interface PendingCall {
  readonly principal: string;
  readonly settle: (outcome: AgentOutcome) => void;
  result: IncomingResult | undefined;
  /** What has come before its result. */
  cursor: string | undefined;
  /** For a call of another process, instead of `result`. */
  readonly relay: AnswerRelay | undefined;
  /** For the call that asks for the description: throws ProtocolError if it is too long. */
  readonly admit: ((bytes: number) => void) | undefined;
}

/** A result that has arrived in part. */
interface IncomingResult {
  readonly head: ResultFrame;
  readonly body: Body;
  /** Bytes of the rows that the agent may send. */
  creditBytes: number;
  /** Whether memory is reserved for all rows. Until then the agent gets no further credit. */
  isReserved: boolean;
  release: () => void;
}

/**
 * How much of a result the agent may send ahead. More would fill the buffers of a slow connection, or of a proxy in front
 * of it, for longer than other calls and heartbeats can wait; less would slow down connections with long round trips.
 */
const RESULT_WINDOW_BYTES = 524_288;

const NOTHING = (): void => {};

export function createSession(options: SessionOptions): AgentSession {
  const { budget } = options;
  const pending = createCallTable<PendingCall>();
  let capabilities: ReadonlyMap<string, ManifestEntry> = new Map();
  let maxTokenAge: number | undefined;
  const tellsOfDatabases = options.features.includes(DATABASES_FEATURE);
  const givesCursors = options.features.includes(CURSOR_FEATURE);
  let databases: readonly DatabaseState[] | undefined = tellsOfDatabases ? [] : undefined;
  let toldOfDatabases: (databases: readonly DatabaseState[]) => void = NOTHING;
  let lastId = 0;
  let state: 'open' | 'draining' | 'ended' = 'open';

  function settle(id: number, call: PendingCall, outcome: AgentOutcome): void {
    pending.delete(id);
    // If the agent refused the call before all parameters were sent, the rest would wait for credit forever.
    options.link().sendQueue.cancelBody(id);
    call.settle(outcome);
    endIfUsedUp();
  }

  /** For a call whose answer has been passed on. */
  function forget(id: number): void {
    pending.delete(id);
    options.link().sendQueue.cancelBody(id);
    endIfUsedUp();
  }

  function endIfUsedUp(): void {
    // Ids are never used again: a new connection brings new ones.
    if (lastId === CALL_ID_MAX && pending.size === 0)
      options.link().end(CLOSE.going_away, 'call ids are used up');
  }

  function send(
    request: AgentRequest,
    settleCall: PendingCall['settle'],
    relay: AnswerRelay | undefined,
    admit?: PendingCall['admit'],
  ): number {
    const id = ++lastId;
    if (state === 'ended') {
      settleCall({ kind: 'lost', answerBegun: false });
      return id;
    }
    const { capability, timeoutMs, metadata, params, principal } = request;
    options.link().sendQueue.sendBody({ type: 'request', id, capability, timeoutMs, metadata }, params);
    pending.add(id, { principal, settle: settleCall, result: undefined, cursor: undefined, relay, admit });
    return id;
  }

  function cancel(id: number): void {
    const call = pending.get(id);
    if (call === undefined) return;
    pending.delete(id);
    call.result?.release();
    const { sendQueue } = options.link();
    if (sendQueue.cancelBody(id)) sendQueue.sendControl({ type: 'cancel', id });
  }

  function onResult(frame: ResultFrame, call: PendingCall): void {
    if (answerBegun(call)) throw new ProtocolError('second result for one call');
    if (frame.rowsLength > RESULT_MAX_BYTES)
      throw new ProtocolError('result is larger than a link may carry');
    call.admit?.(frame.rowsLength);
    if (call.relay !== undefined) {
      if (call.relay.add(frame)) forget(frame.id);
      return;
    }
    if (frame.fin) {
      settle(frame.id, call, completed(frame, [frame.rows], NOTHING, call.cursor));
      return;
    }
    const body = receiveBody(frame.rowsLength);
    body.add(frame.rows, false);
    const result = {
      head: frame,
      body,
      creditBytes: INITIAL_CREDIT_BYTES,
      isReserved: false,
      release: NOTHING,
    };
    call.result = result;
    result.release = budget.reserve(frame.rowsLength, () => {
      result.isReserved = true;
      giveCredit(result);
    });
  }

  /** In steps of half a window at least, to save frames. */
  function giveCredit(result: IncomingResult): void {
    const { id, rowsLength } = result.head;
    const arrived = rowsLength - result.body.missing;
    const upTo = Math.min(rowsLength, arrived + RESULT_WINDOW_BYTES);
    const bytes = upTo - result.creditBytes;
    if (!result.isReserved || bytes <= 0 || (bytes < RESULT_WINDOW_BYTES / 2 && upTo < rowsLength)) return;
    result.creditBytes = upTo;
    options.link().sendQueue.sendControl({ type: 'credit', id, bytes });
  }

  function onData(frame: DataFrame, call: PendingCall): void {
    if (!answerBegun(call)) throw new ProtocolError('data before its result');
    const { id, bytes, fin } = frame;
    if (call.relay?.add(frame) === true) forget(id);
    if (call.result === undefined) return;
    const { head, body, creditBytes, release } = call.result;
    if (head.rowsLength - body.missing + bytes.length > creditBytes) {
      throw new ProtocolError('more of a result than was granted');
    }
    if (body.add(bytes, fin)) settle(id, call, completed(head, body.pieces, release, call.cursor));
    else giveCredit(call.result);
  }

  function onCursor({ id, cursor }: CursorFrame, call: PendingCall): void {
    if (!givesCursors) throw new ProtocolError('cursor frame without its feature');
    if (answerBegun(call)) throw new ProtocolError('cursor after the beginning of its result');
    if (call.cursor !== undefined) throw new ProtocolError('second cursor for one call');
    call.cursor = cursor;
    call.relay?.addCursor({ type: 'cursor', id, cursor });
  }

  function onError(frame: ErrorFrame, call: PendingCall): void {
    if (call.cursor !== undefined && !answerBegun(call)) throw new ProtocolError('error after a cursor');
    if (frame.code === 'AGENT_DATABASE_UNAVAILABLE' && !tellsOfDatabases)
      throw new ProtocolError('error code without its feature');
    call.result?.release();
    settle(frame.id, call, {
      kind: 'error',
      code: frame.code,
      message: frame.message,
      notStarted: frame.notStarted,
    });
  }

  function onCallFrame(frame: LinkFrame): void {
    if (frame.type === 'go_away') {
      // An agent may send it twice, and it may arrive after the session has ended.
      if (state === 'open') state = 'draining';
      options.onDraining();
      return;
    }
    if (frame.type === 'databases') {
      if (!tellsOfDatabases) throw new ProtocolError('databases frame without its feature');
      databases = frame.databases;
      toldOfDatabases(databases);
      return;
    }
    if (frame.type === 'request' || frame.type === 'cancel' || frame.type === 'fleet') {
      throw new ProtocolError(`an agent must not send ${frame.type}`);
    }
    if (frame.id > lastId) throw new ProtocolError('frame for a call that was never made');
    if (frame.type === 'credit') {
      options.link().sendQueue.addCredit(frame.id, frame.bytes);
      return;
    }
    const call = pending.get(frame.id);
    // The call was settled or cancelled here while the frame was on its way.
    if (call === undefined) return;
    switch (frame.type) {
      case 'result':
        return onResult(frame, call);
      case 'data':
        return onData(frame, call);
      case 'error':
        return onError(frame, call);
      case 'cursor':
        return onCursor(frame, call);
    }
  }

  function goAway(reason: string): void {
    options.link().sendQueue.sendControl({ type: 'go_away', reason });
  }

  return {
    connId: options.connId,
    instanceId: options.instanceId,
    manifestSha256: options.manifestSha256,
    features: options.features,
    protocolVersion: options.protocolVersion,
    identity: options.identity,
    get maxTokenAge() {
      return maxTokenAge;
    },
    get databases() {
      return databases;
    },
    onDatabases(listener) {
      toldOfDatabases = listener;
    },
    get inFlight() {
      return pending.size;
    },
    get available() {
      return state === 'open' && pending.size < options.maxInflight && lastId < CALL_ID_MAX;
    },
    capability: (name) => capabilities.get(name),
    describe(timeoutMs, admit, settleCall) {
      const params = Buffer.from('{}');
      const request = { capability: DESCRIBE_CAPABILITY, params, timeoutMs, metadata: {}, principal: '' };
      send(request, settleCall, undefined, admit);
    },
    setDescription({ manifest, identity }) {
      maxTokenAge = identity?.max_age;
      capabilities = capabilitiesOf(manifest);
    },
    call(request, settleCall) {
      const id = send(request, settleCall, undefined);
      return () => cancel(id);
    },
    relay(request, answer) {
      const relay = createAnswerRelay(answer);
      const id = send(request, (outcome) => outcome.kind !== 'result' && answer.fail(outcome), relay);
      return {
        cancel: () => cancel(id),
        addCredit(bytes) {
          if (pending.get(id) === undefined) return;
          relay.grant(bytes);
          options.link().sendQueue.sendControl({ type: 'credit', id, bytes });
        },
      };
    },
    makePlace(principal) {
      if (state !== 'open' || lastId === CALL_ID_MAX) return false;
      const newest = callToGiveWay(
        (visit) => pending.forEach((call, id) => visit(call.principal, id, !answerBegun(call))),
        principal,
      );
      const call = newest === undefined ? undefined : pending.get(newest);
      if (newest === undefined || call === undefined) return false;
      cancel(newest);
      call.settle({
        kind: 'error',
        code: 'AGENT_BUSY',
        message: 'gave its place to another',
        notStarted: false,
      });
      return true;
    },
    fleet(replicaCount, linksPerReplica) {
      if (!options.features.includes(FLEET_FEATURE)) return;
      options.link().sendQueue.sendControl({ type: 'fleet', replicaCount, linksPerReplica });
    },
    goAway,
    supersede(reason) {
      if (state !== 'open') return;
      state = 'draining';
      goAway(reason);
      options.onDraining();
    },
    end: (code, reason) => options.link().end(code, reason),
    receive: onCallFrame,
    ended() {
      if (state === 'ended') throw new Error('the session has ended already');
      state = 'ended';
      for (const [id, call] of pending.entries()) {
        call.result?.release();
        settle(id, call, { kind: 'lost', answerBegun: answerBegun(call) });
      }
    },
  };
}

function answerBegun({ result, relay }: PendingCall): boolean {
  return result !== undefined || relay?.begun === true;
}

function completed(
  { count, truncated }: ResultFrame,
  rows: readonly Uint8Array[],
  release: () => void,
  cursor: string | undefined,
): AgentResult {
  const result = { kind: 'result', rows, count, truncated, release } as const;
  return cursor === undefined ? result : { ...result, cursor };
}

export function badDescription(reason: string): ProtocolError {
  return new ProtocolError(reason, CLOSE.bad_description);
}
