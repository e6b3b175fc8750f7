import {
  CLOSE,
  createCallTable,
  INITIAL_CREDIT_BYTES,
  joinPieces,
  ProtocolError,
  receiveBody,
  type Body,
  type DataFrame,
  type Frame,
  type Link,
  type LinkFrame,
  type RequestFrame,
  type ResultFrame,
} from '@svc/protocol';
import type { AgentOutcome, AgentResult } from '../../agents/callable-link.ts';
import type { AgentSession, RelayedCall } from '../../agents/agent-session.ts';
import type { BodyBudget } from '../../http/request/json-body.ts';
import { failureFrame, readHop } from './hop.ts';

/**
 * The calls of one sibling for agents of this process. Parameters are collected first, so that an agent never waits for a
 * sibling. Answers pass frame by frame, within the credit that the caller's process has granted, and only that process
 * keeps them in memory.
 */
export interface CallRelay {
  receive(frame: LinkFrame): void;
  /** From the link: cancels all calls at their agents. */
  ended(): void;
}

export interface CallRelayOptions {
  readonly link: () => Link;
  /** A session of this process that takes calls. */
  readonly sessionOf: (connId: string) => AgentSession | undefined;
  /** Parameters announced by siblings and not complete: one bound for all. */
  readonly arriving: BodyBudget;
  readonly now: () => number;
}

type Relayed =
  | { readonly at: 'arriving'; readonly request: RequestFrame; readonly body: Body; readonly since: number }
  | { readonly at: 'agent'; readonly call: RelayedCall };

const BUSY = {
  kind: 'error',
  code: 'AGENT_BUSY',
  message: 'the agent has as many calls as it takes, try again shortly',
  notStarted: true,
} as const;
const LOST = { kind: 'lost', answerBegun: false } as const;

export function createCallRelay({ link, sessionOf, arriving, now }: CallRelayOptions): CallRelay {
  const calls = createCallTable<Relayed>();
  let lastId = 0;

  function control(frame: Frame): void {
    link().sendQueue.sendControl(frame);
  }

  function fail(id: number, outcome: Exclude<AgentOutcome, AgentResult>): void {
    calls.delete(id);
    control(failureFrame(id, outcome));
  }

  function onRequest(request: RequestFrame): void {
    const { id, paramsLength, params } = request;
    if (id <= lastId) throw new ProtocolError('call ids must grow');
    lastId = id;
    if (request.fin) {
      start(request, params, request.timeoutMs);
      return;
    }
    if (!arriving.take(paramsLength)) {
      fail(id, BUSY);
      return;
    }
    const body = receiveBody(paramsLength);
    body.add(params, false);
    calls.add(id, { at: 'arriving', request, body, since: now() });
    const beyondWindow = paramsLength - INITIAL_CREDIT_BYTES;
    if (beyondWindow > 0) control({ type: 'credit', id, bytes: beyondWindow });
  }

  function onData({ id, bytes, fin }: DataFrame): void {
    const relayed = calls.get(id);
    // The call was refused or cancelled while its parameters were on their way.
    if (relayed === undefined) return;
    if (relayed.at === 'agent') throw new ProtocolError('data after the end of its parameters');
    const { request, body, since } = relayed;
    if (!body.add(bytes, fin)) return;
    calls.delete(id);
    arriving.give(request.paramsLength);
    start(request, joinPieces(body.pieces), request.timeoutMs - Math.floor(now() - since));
  }

  function start(
    { id, capability, metadata: all }: RequestFrame,
    params: Uint8Array,
    timeoutMs: number,
  ): void {
    const { connId, principal, metadata } = readHop(all);
    const session = sessionOf(connId);
    if (session === undefined) {
      fail(id, LOST);
      return;
    }
    if (!session.available && !session.makePlace(principal)) {
      fail(id, BUSY);
      return;
    }
    let isOver = false;
    const call = session.relay(
      { capability, params, timeoutMs: Math.max(1, timeoutMs), metadata, principal },
      {
        forward(frame) {
          isOver = frame.fin;
          if (isOver) calls.delete(id);
          control(withId(frame, id));
        },
        cursor: ({ cursor }) => control({ type: 'cursor', id, cursor }),
        fail(outcome) {
          isOver = true;
          fail(id, outcome);
        },
      },
    );
    // If the agent was lost already, the call has failed at once.
    if (!isOver) calls.add(id, { at: 'agent', call });
  }

  function forget(id: number, relayed: Relayed): void {
    calls.delete(id);
    if (relayed.at === 'agent') relayed.call.cancel();
    else arriving.give(relayed.request.paramsLength);
  }

  return {
    receive(frame) {
      switch (frame.type) {
        case 'request':
          return onRequest(frame);
        case 'result':
        case 'error':
        case 'fleet':
        case 'databases':
        case 'cursor':
        case 'go_away':
          throw new ProtocolError(`a sibling must not send ${frame.type}`, CLOSE.protocol_error);
        case 'data':
        case 'cancel':
        case 'credit':
      }
      if (frame.id > lastId) throw new ProtocolError('frame for a call that was never made');
      if (frame.type === 'data') return onData(frame);
      const relayed = calls.get(frame.id);
      if (relayed === undefined) return;
      if (frame.type === 'cancel') forget(frame.id, relayed);
      else if (relayed.at === 'agent') relayed.call.addCredit(frame.bytes);
    },
    ended() {
      for (const [id, relayed] of calls.entries()) forget(id, relayed);
    },
  };
}

function withId(frame: ResultFrame | DataFrame, id: number): Frame {
  if (frame.type === 'data') return { type: 'data', id, bytes: frame.bytes, fin: frame.fin };
  const { count, truncated, rowsLength, rows, fin } = frame;
  return { type: 'result', id, count, truncated, rowsLength, rows, fin };
}
