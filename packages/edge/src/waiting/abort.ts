/** As much of an AbortSignal as calls need; every AbortSignal is one. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

interface Abort {
  readonly signal: AbortSignalLike;
  /** Calls every listener, once; none may throw. */
  abort(): void;
}

/** For what each call needs: with an AbortController, making it and listening to it cost microseconds. */
export function createAbort(): Abort {
  const listeners: (() => void)[] = [];
  const signal = {
    aborted: false,
    addEventListener(_type: 'abort', listener: () => void): void {
      listeners.push(listener);
    },
    removeEventListener(_type: 'abort', listener: () => void): void {
      const at = listeners.indexOf(listener);
      if (at >= 0) listeners.splice(at, 1);
    },
  };
  return {
    signal,
    abort() {
      if (signal.aborted) return;
      signal.aborted = true;
      for (let next = listeners.shift(); next !== undefined; next = listeners.shift()) next();
    },
  };
}
