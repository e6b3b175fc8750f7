import { createAbort } from '@svc/edge';
import type { Description, DatabaseState } from '@svc/protocol';
import type { CallOutcome, LinkOffer } from '@svc/agent';
import { callToGiveWay, type AgentOutcome, type AgentRequest, type OwnLink } from '@svc/gateway/mcp';

export interface LocalLink extends OwnLink {
  /** Resolves when no call is under way. To be called once, when the link takes no further call. */
  idle(): Promise<void>;
  /** Fails all calls under way, and stops their queries. */
  abortAll(): void;
}

export interface LocalLinkOptions {
  readonly instanceId: string;
  readonly connId: string;
  readonly offer: LinkOffer;
  readonly description: Description;
  readonly identity: 'token' | 'gateway' | undefined;
  readonly databases: () => readonly DatabaseState[];
}

interface Pending {
  readonly request: AgentRequest;
  readonly settle: (outcome: AgentOutcome) => void;
  readonly abort: ReturnType<typeof createAbort>;
}

/**
 * A link in memory: the agent gets what a gateway would send it. The calls of one turn of the event loop are handed on
 * together, so that the agent sends their queries in one batch. The rows of an answer count once, in the agent's memory for
 * results.
 */
export function createLocalLink(options: LocalLinkOptions): LocalLink {
  const { offer, description } = options;
  const entries = new Map(description.manifest.map((entry) => [entry.name, entry]));
  const pending = new Map<number, Pending>();
  let waiting: number[] = [];
  let lastId = 0;
  let onIdle: (() => void) | undefined;

  function handOn(): void {
    const ids = waiting;
    waiting = [];
    for (const id of ids) {
      const call = pending.get(id);
      if (call === undefined) continue;
      const { capability, params, timeoutMs, metadata } = call.request;
      const incoming = { capability, params, timeoutMs, metadata, signal: call.abort.signal };
      void offer.handle(incoming).then((outcome) => answered(id, outcome));
    }
  }

  function answered(id: number, outcome: CallOutcome): void {
    const call = pending.get(id);
    if (call === undefined) {
      // It was cancelled meanwhile.
      if (outcome.kind === 'result') outcome.release();
      return;
    }
    if (outcome.kind === 'error') {
      end(id, call, outcome);
      return;
    }
    const { rows, cursor, ...result } = outcome;
    end(id, call, { ...result, rows: [rows], ...(cursor === undefined ? {} : { cursor }) });
  }

  function end(id: number, { settle }: Pending, outcome: AgentOutcome): void {
    forget(id);
    settle(outcome);
  }

  function forget(id: number): void {
    pending.delete(id);
    if (pending.size === 0) onIdle?.();
  }

  function cancel(id: number): void {
    const call = pending.get(id);
    if (call === undefined) return;
    forget(id);
    call.abort.abort();
  }

  return {
    instanceId: options.instanceId,
    connId: options.connId,
    protocolVersion: 2,
    identity: options.identity,
    maxTokenAge: description.identity?.max_age,
    get databases() {
      return options.databases();
    },
    get inFlight() {
      return pending.size;
    },
    get available() {
      return pending.size < offer.maxInflight;
    },
    capability: (name) => entries.get(name),
    call(request, settle) {
      const id = ++lastId;
      pending.set(id, { request, settle, abort: createAbort() });
      waiting.push(id);
      if (waiting.length === 1) setImmediate(handOn);
      return () => cancel(id);
    },
    makePlace(principal) {
      const newest = callToGiveWay((visit) => {
        for (const [id, { request }] of pending) visit(request.principal, id, true);
      }, principal);
      const call = newest === undefined ? undefined : pending.get(newest);
      if (newest === undefined || call === undefined) return false;
      call.abort.abort();
      end(newest, call, {
        kind: 'error',
        code: 'AGENT_BUSY',
        message: 'gave its place to another',
        notStarted: false,
      });
      return true;
    },
    async idle() {
      if (pending.size > 0) await new Promise<void>((resolve) => (onIdle = resolve));
    },
    abortAll() {
      for (const [id, call] of pending) {
        call.abort.abort();
        end(id, call, { kind: 'lost', answerBegun: true });
      }
    },
  };
}
