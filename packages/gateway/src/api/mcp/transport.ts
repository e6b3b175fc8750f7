import type { AbortSignalLike } from '@svc/edge';
import type { Principal } from '../../core/principal.ts';
import type { RequestHeaders } from '../../http/request/headers.ts';
import type { Message } from './protocol/message.ts';
import { checkNameHeader, type Era, type Revisions } from './protocol/revisions.ts';
import type { CancellableCall, Sessions } from './sessions.ts';

/** What depends on how messages come. */
export interface Transport {
  /** The rules that a request claims. Throws RpcError (400) when they are not kept or served. */
  eraOf(message: Message): Era;
  /** Throws RpcError (400) when what came with a stateless request names another tool. */
  checkName(name: string): void;
  /** Headers of the answer to `initialize`. */
  openSession(): readonly string[];
  /** Undefined when the client cannot cancel the call. `id` is the JSON of the request's id. */
  begin(id: string, era: Era, signal: AbortSignalLike): CancellableCall | undefined;
  /** Cancels the call of that id. */
  cancel(id: string): void;
}

interface HttpParts {
  readonly revisions: Revisions;
  readonly sessions: Sessions;
  /** Whether `initialize` begins a session, in which a client can cancel calls. */
  readonly issuesSessions: boolean;
}

/** Over HTTP the headers repeat what a message says, and name its session. */
export class HttpTransport implements Transport {
  readonly #parts: HttpParts;
  readonly headers: RequestHeaders;
  readonly principal: Principal;

  constructor(parts: HttpParts, headers: RequestHeaders, principal: Principal) {
    this.#parts = parts;
    this.headers = headers;
    this.principal = principal;
  }

  eraOf(message: Message): Era {
    return this.#parts.revisions.eraOf(message, this.headers);
  }

  checkName(name: string): void {
    checkNameHeader(this.headers, name);
  }

  openSession(): readonly string[] {
    return this.#parts.issuesSessions ? ['Mcp-Session-Id', this.#parts.sessions.open(this)] : [];
  }

  begin(id: string, era: Era, signal: AbortSignalLike): CancellableCall | undefined {
    return era === 'handshake' ? this.#parts.sessions.begin(this, id, signal) : undefined;
  }

  cancel(id: string): void {
    this.#parts.sessions.cancel(this, id);
  }
}
