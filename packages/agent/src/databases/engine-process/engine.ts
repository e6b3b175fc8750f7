import { errorText, type AbortSignalLike, type OwnCode } from '@svc/edge';
import {
  startMessageChild,
  type ChildEnd,
  type ChildHandlers,
  type MessageChild,
} from '../../process-messages/message-child.ts';
import type { MessageFields } from '../../process-messages/message-reader.ts';
import { DatabaseError } from '../driver/errors.ts';
import { MESSAGE_MAX_BYTES } from '../sessions/answer-bounds.ts';
import { createMemoryWatch } from './memory-watch.ts';

/**
 * A child process that holds the engine of a database, so that a query can be ended and its memory bounded whatever the
 * engine does. It has no environment and no secret, and is told everything over one pipe.
 *
 * How a driver uses it: its folder has the main file of the child, which calls `serveEngine` and is a text in the
 * executable (`engines` in scripts/bundle.mjs); `Driver.engineCode` gives that text. `startEngine` starts a process,
 * `ask` puts a question to it. What the kinds and bodies of questions and answers mean is the driver's own matter.
 */
export interface Engine {
  readonly pid: number | undefined;
  /** False once it has ended or is being ended. */
  readonly isUsable: boolean;
  /**
   * Throws `DatabaseError`: `timeout` and `cancelled` by the limit, `failed` where it took too much memory, and
   * `unavailable` when the process has ended for another reason, as it does when what it answers cannot be read or is longer
   * than any answer may be. A question that is stopped ends the process, at once or
   * when its interrupt had no effect; other questions that are then under way fail with `unavailable`.
   */
  ask(kind: number, body: Uint8Array, limit?: EngineLimit): Promise<EngineAnswer>;
  /** Calls it once, when the process is over, whoever ended it. */
  onEnd(ended: () => void): void;
  /** Ends it at once. */
  kill(): void;
  /** Lets it end when it has answered what it was asked. */
  close(): void;
}

export interface EngineOptions {
  readonly code: OwnCode;
  /** What the process may have in memory; watched on Linux only. */
  readonly memoryBytes: number;
  /** The kind of the message that asks the child to stop a question, and how long that may take; absent: it is killed. */
  readonly interrupt?: { readonly kind: number; readonly graceMs: number };
}

export interface EngineLimit {
  readonly timeoutMs: number;
  readonly signal: AbortSignalLike;
  /** How long an answer is waited for beyond that, for the sake of other questions; absent: not at all. */
  readonly graceMs?: number;
  /** How long the answer may be; absent: as long as any message of a database. */
  readonly mostBytes?: number;
}

interface EngineAnswer {
  readonly kind: number;
  readonly body: Buffer;
}

interface Asked {
  readonly resolve: (answer: EngineAnswer) => void;
  readonly reject: (error: DatabaseError) => void;
  readonly mostBytes: number;
  /** Why its answer is no longer waited for. */
  stopped: 'timeout' | 'cancelled' | undefined;
  /** Until its process is ended for want of that answer. */
  grace: NodeJS.Timeout | undefined;
}

const ID_BYTES = 4;
/** No answer is too long with this. */
const SHORT_BYTES = 65_536;
const NOTHING = new Uint8Array();

/** Throws `DatabaseError` where the system has no process or file to spare. */
export function startEngine({ code, memoryBytes, interrupt }: EngineOptions): Engine {
  const child = startChild(code, {
    onMessage: act,
    checkLength,
    onUnreadable: (error) => end('stop', `it has sent ${errorText(error)}`),
    onEnd: over,
  });
  const { writer, pipe } = child;
  const asked = new Map<number, Asked>();
  const listeners: (() => void)[] = [];
  const memory = createMemoryWatch(child.pid, memoryBytes, () => end('memory'));
  let isClosing = false;
  /** How it has ended. */
  let ended: string | undefined;
  let killedFor: 'memory' | 'stop' | undefined;

  function send(kind: number, id: number, body: Uint8Array): void {
    writer.begin(kind, ID_BYTES);
    writer.number(id);
    writer.end(body);
  }

  function end(why: 'memory' | 'stop', detail?: string): void {
    killedFor ??= why;
    child.kill(detail);
  }

  function over({ code: exitCode, signal, failure, stderr }: ChildEnd): void {
    ended = `${failure ?? signal ?? exitCode} ${stderr}`;
    memory.stop();
    pipe.destroy();
    for (const each of asked.values()) {
      clearTimeout(each.grace);
      each.reject(endOf(each.stopped, ended));
    }
    asked.clear();
    for (const listener of listeners) listener();
  }

  function endOf(stopped: Asked['stopped'], detail: string): DatabaseError {
    if (stopped !== undefined) return stopError(stopped);
    if (killedFor === 'memory') {
      const advice = 'its process needs more memory than it may have: raise memory';
      return new DatabaseError('failed', `stopped: it needs more memory than ${memoryBytes} bytes`, {
        advice,
      });
    }
    const advice = 'the process that holds its engine has ended';
    return new DatabaseError('unavailable', `the engine process has ended: ${detail}`, { advice });
  }

  function stop(id: number, each: Asked, why: 'timeout' | 'cancelled', ownGraceMs: number): void {
    each.stopped = why;
    if (interrupt !== undefined) send(interrupt.kind, id, NOTHING);
    const graceMs = interrupt?.graceMs ?? ownGraceMs;
    if (graceMs === 0) end('stop');
    else each.grace = setTimeout(() => end('stop'), graceMs);
  }

  function endWhenIdle(): void {
    if (asked.size === 0) pipe.end();
  }

  function act(kind: number, fields: MessageFields): void {
    const id = fields.number();
    const each = asked.get(id);
    if (each === undefined) throw new Error('an answer to what it was not asked');
    asked.delete(id);
    clearTimeout(each.grace);
    memory.busy = asked.size > 0;
    if (isClosing) endWhenIdle();
    if (each.stopped === undefined) each.resolve({ kind, body: Buffer.from(fields.rest()) });
    else each.reject(stopError(each.stopped));
  }

  function checkLength(bytes: number): void {
    if (bytes < ID_BYTES) throw new Error('an answer without a number');
    if (bytes <= SHORT_BYTES) return;
    for (const { mostBytes } of asked.values()) if (bytes <= mostBytes) return;
    throw new Error(`an answer of ${bytes} bytes`);
  }

  return {
    pid: child.pid,
    get isUsable() {
      return ended === undefined && killedFor === undefined;
    },
    ask: (kind, body, limit) =>
      new Promise((resolve, reject) => {
        if (ended !== undefined) {
          reject(endOf(undefined, `before ${ended}`));
          return;
        }
        if (limit?.signal.aborted === true) {
          reject(stopError('cancelled'));
          return;
        }
        const id = child.nextId((each) => asked.has(each));
        const release =
          limit === undefined ? () => {} : keep(limit, (why) => stop(id, each, why, limit.graceMs ?? 0));
        const each: Asked = {
          resolve: (answer) => {
            release();
            resolve(answer);
          },
          reject: (error) => {
            release();
            reject(error);
          },
          mostBytes: limit?.mostBytes ?? MESSAGE_MAX_BYTES,
          stopped: undefined,
          grace: undefined,
        };
        asked.set(id, each);
        memory.busy = true;
        send(kind, id, body);
      }),
    onEnd(listener) {
      if (ended !== undefined) listener();
      else listeners.push(listener);
    },
    kill: () => end('stop'),
    close() {
      isClosing = true;
      endWhenIdle();
    },
  };
}

function startChild(code: OwnCode, handlers: ChildHandlers): MessageChild {
  try {
    return startMessageChild(code, { env: {}, cwd: '/' }, handlers);
  } catch (error) {
    const advice = errorText(error);
    throw new DatabaseError('unavailable', advice, { advice });
  }
}

/** Calls `stop` once the limit is reached, until it is released. */
function keep({ timeoutMs, signal }: EngineLimit, stop: (why: 'timeout' | 'cancelled') => void): () => void {
  const release = (): void => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  };
  const stopFor = (why: 'timeout' | 'cancelled'): void => {
    release();
    stop(why);
  };
  const onAbort = (): void => stopFor('cancelled');
  const timer = setTimeout(() => stopFor('timeout'), Math.max(0, timeoutMs));
  signal.addEventListener('abort', onAbort);
  return release;
}

function stopError(why: 'timeout' | 'cancelled'): DatabaseError {
  return new DatabaseError(why, `stopped: ${why}`);
}
