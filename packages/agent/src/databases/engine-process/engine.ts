import type { ChildProcess } from 'node:child_process';
import { Duplex, Readable } from 'node:stream';
import { spawnOwnCode, type AbortSignalLike, type OwnCode } from '@svc/edge';
import { createMessageReader, type MessageFields } from '../../process-messages/message-reader.ts';
import { createMessageWriter } from '../../process-messages/message-writer.ts';
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

const ID_MAX = 0x7fff_ffff;
const ID_BYTES = 4;
const STDERR_MAX_CHARACTERS = 2000;
/** No answer is too long with this. */
const SHORT_BYTES = 65_536;
const NOTHING = new Uint8Array();

/** Throws `DatabaseError` where the system has no process or file to spare. */
export function startEngine({ code, memoryBytes, interrupt }: EngineOptions): Engine {
  const child = spawnOwnCode(code, { env: {}, cwd: '/', stdio: ['pipe', 'ignore', 'pipe', 'pipe'] });
  const { stream, errors } = pipesOf(child);
  const writer = createMessageWriter(stream);
  const asked = new Map<number, Asked>();
  const listeners: (() => void)[] = [];
  const memory = createMemoryWatch(child.pid, memoryBytes, () => end('memory'));
  let lastId = 0;
  let isClosing = false;
  let hasEnded = false;
  let killedFor: 'memory' | 'stop' | undefined;
  let stderr = '';

  function send(kind: number, id: number, body: Uint8Array): void {
    writer.begin(kind, ID_BYTES);
    writer.number(id);
    writer.end(body);
  }

  function nextId(): number {
    do lastId = lastId === ID_MAX ? 1 : lastId + 1;
    while (asked.has(lastId));
    return lastId;
  }

  function end(why: 'memory' | 'stop'): void {
    killedFor ??= why;
    child.kill('SIGKILL');
  }

  function over(detail: string): void {
    if (hasEnded) return;
    hasEnded = true;
    memory.stop();
    stream.destroy();
    for (const each of asked.values()) {
      clearTimeout(each.grace);
      each.reject(endOf(each.stopped, detail));
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
    return new DatabaseError('unavailable', `the engine process has ended: ${detail} ${stderr}`, { advice });
  }

  function stop(id: number, each: Asked, why: 'timeout' | 'cancelled', ownGraceMs: number): void {
    each.stopped = why;
    if (interrupt !== undefined) send(interrupt.kind, id, NOTHING);
    const graceMs = interrupt?.graceMs ?? ownGraceMs;
    if (graceMs === 0) end('stop');
    else each.grace = setTimeout(() => end('stop'), graceMs);
  }

  function endWhenIdle(): void {
    if (asked.size === 0) stream.end();
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

  const read = createMessageReader(act, checkLength);
  stream.on('data', (piece: Buffer) => {
    try {
      read(piece);
    } catch (error) {
      stderr = `it has sent ${error instanceof Error ? error.message : String(error)}`;
      end('stop');
      stream.destroy();
    }
  });
  // What it says of a process that has ended, its 'exit' says too.
  stream.on('error', () => {});
  errors.setEncoding('utf8').on('data', (text: string) => {
    stderr = `${stderr}${text}`.slice(-STDERR_MAX_CHARACTERS);
  });
  child.on('error', (error) => over(error.message));
  // By 'close' all that it has said is known; a process that could not be started has none.
  child.on('close', (exitCode, signal) => over(`${signal ?? exitCode}`));

  return {
    pid: child.pid,
    get isUsable() {
      return !hasEnded && killedFor === undefined;
    },
    ask: (kind, body, limit) =>
      new Promise((resolve, reject) => {
        if (hasEnded) {
          reject(endOf(undefined, 'before'));
          return;
        }
        if (limit?.signal.aborted === true) {
          reject(stopError('cancelled'));
          return;
        }
        const id = nextId();
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
      if (hasEnded) listener();
      else listeners.push(listener);
    },
    kill: () => end('stop'),
    close() {
      isClosing = true;
      endWhenIdle();
    },
  };
}

function pipesOf(child: ChildProcess): { readonly stream: Duplex; readonly errors: Readable } {
  // Of a process that could not be started, what the types promise is not there.
  const errors: unknown = child.stderr;
  const stream: unknown = Reflect.get(Object(child.stdio), 3);
  if (errors instanceof Readable && stream instanceof Duplex) return { stream, errors };
  const advice =
    'no process can be started for its engine: look at the limits of processes and of open files';
  throw new DatabaseError('unavailable', advice, { advice });
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
