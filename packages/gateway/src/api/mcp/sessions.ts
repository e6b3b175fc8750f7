import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { createAbort, type AbortSignalLike } from '@svc/edge';
import type { RequestHeaders } from '../../http/request/headers.ts';
import type { Principal } from '../../core/principal.ts';

interface SessionSender {
  readonly principal: Principal;
  readonly headers: RequestHeaders;
}

/** A call that its client may cancel with `notifications/cancelled`. */
export interface CancellableCall {
  /** Aborted when the client cancels the call or closes its connection. */
  readonly signal: AbortSignalLike;
  readonly cancelled: boolean;
  /** Must be called when the call is over, however it ended. */
  end(): void;
}

/** Every issued id: 48 bytes as base64url, a nonce and its signature. */
const SESSION_ID_FORM = /^[\w-]{64}$/;
const NONCE_BYTES = 16;
/** All sessions count as sessions of this service. */
const SERVICE = 'default';

/** Call sessions of MCP: those of the revisions before 2026-07-28. */
export interface Sessions {
  open(sender: SessionSender): string;
  /** Undefined without a session. `id` is the JSON of the request's id. */
  begin(sender: SessionSender, id: string, callerSignal: AbortSignalLike): CancellableCall | undefined;
  /** Nothing happens unless exactly one call of the session has this id. */
  cancel(sender: SessionSender, id: string): void;
  /** How many calls have this name now, which is made of session, principal and id. */
  countOf(call: string): number;
  abort(call: string): void;
  readonly cancellable: number;
}

/**
 * Keeps nothing of a session but its calls in flight, under the session id that the request names. That id is checked only
 * when a client cancels: a made-up id has only the calls of the client that made it up. So only cancellations cost a
 * signature. `cancelAnywhere` cancels a call by its name when other processes may have it.
 */
export function createSessions(secret: Uint8Array, cancelAnywhere?: (call: string) => void): Sessions {
  const calls = new Map<string, readonly (() => void)[]>();

  function signature(nonce: Uint8Array, principalId: string): Buffer {
    return createHmac('sha256', secret).update(nonce).update(`${SERVICE}\0${principalId}`).digest();
  }
  function isIssued(session: string, principalId: string): boolean {
    const bytes = Buffer.from(session, 'base64url');
    const nonce = bytes.subarray(0, NONCE_BYTES);
    return timingSafeEqual(bytes.subarray(NONCE_BYTES), signature(nonce, principalId));
  }

  const countOf = (call: string): number => calls.get(call)?.length ?? 0;
  function abort(call: string): void {
    for (const cancel of calls.get(call) ?? []) cancel();
  }

  return {
    open({ principal }) {
      const nonce = randomBytes(NONCE_BYTES);
      return Buffer.concat([nonce, signature(nonce, principal.id)]).toString('base64url');
    },
    begin(sender, id, callerSignal) {
      const session = sessionIdOf(sender.headers);
      if (session === undefined) return undefined;
      const name = callName(session, sender.principal.id, id);
      const abort = createAbort();
      let cancelled = false;
      const cancel = (): void => {
        cancelled = true;
        abort.abort();
      };
      const leave = (): void => abort.abort();
      calls.set(name, [...(calls.get(name) ?? []), cancel]);
      // A caller that left while its key was verified causes no event.
      if (callerSignal.aborted) leave();
      else callerSignal.addEventListener('abort', leave);
      return {
        signal: abort.signal,
        get cancelled() {
          return cancelled;
        },
        end() {
          callerSignal.removeEventListener('abort', leave);
          const others = (calls.get(name) ?? []).filter((other) => other !== cancel);
          if (others.length === 0) calls.delete(name);
          else calls.set(name, others);
        },
      };
    },
    cancel(sender, id) {
      const principalId = sender.principal.id;
      const session = sessionIdOf(sender.headers);
      if (session === undefined || !isIssued(session, principalId)) return;
      const call = callName(session, principalId, id);
      if (cancelAnywhere !== undefined) cancelAnywhere(call);
      else if (countOf(call) === 1) abort(call);
    },
    countOf,
    abort,
    get cancellable() {
      let count = 0;
      for (const { length } of calls.values()) count += length;
      return count;
    },
  };
}

function sessionIdOf({ mcpSessionId, repeated }: RequestHeaders): string | undefined {
  if (mcpSessionId === undefined || repeated.includes('mcp-session-id')) return undefined;
  return SESSION_ID_FORM.test(mcpSessionId) ? mcpSessionId : undefined;
}

/** The session id has one length, and JSON holds no NUL: no two calls share a name. */
function callName(session: string, principalId: string, id: string): string {
  return `${session}${principalId}\0${plainId(id)}`;
}

/** The JSON of a request's id in one spelling: an integer may be written as 1e20. */
export function plainId(id: string): string {
  return /^(?:"|-?\d+$)/.test(id) ? id : BigInt(Number(id)).toString();
}
