import { createAbort, type AbortSignalLike } from '@svc/edge';
import {
  plainId,
  type CancellableCall,
  type Era,
  type Message,
  type Revisions,
  type Transport,
} from '@svc/gateway/mcp';

/** The requests under way of the one client, by their ids. */
export interface CallsById extends Transport {
  /** Undefined for a request that is not under way, or if two have the id. */
  cancel(id: string): void;
}

interface Call {
  readonly cancel: () => void;
}

export function createCallsById(revisions: Revisions): CallsById {
  const calls = new Map<string, readonly Call[]>();
  return {
    eraOf: (message: Message): Era => revisions.eraByMeta(message),
    checkName() {},
    openSession: () => [],
    begin(id, _era, signal): CancellableCall {
      const abort = createAbort();
      let isCancelled = false;
      const leave = (): void => abort.abort();
      const call: Call = {
        cancel() {
          isCancelled = true;
          abort.abort();
        },
      };
      const key = plainId(id);
      calls.set(key, [...(calls.get(key) ?? []), call]);
      follow(signal, leave);
      return {
        signal: abort.signal,
        get cancelled() {
          return isCancelled;
        },
        end() {
          signal.removeEventListener('abort', leave);
          const others = (calls.get(key) ?? []).filter((other) => other !== call);
          if (others.length === 0) calls.delete(key);
          else calls.set(key, others);
        },
      };
    },
    cancel(id) {
      const [call, another] = calls.get(plainId(id)) ?? [];
      if (another === undefined) call?.cancel();
    },
  };
}

function follow(signal: AbortSignalLike, leave: () => void): void {
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave);
}
