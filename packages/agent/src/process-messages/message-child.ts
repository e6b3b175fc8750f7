import type { SpawnOptions } from 'node:child_process';
import { Duplex, Readable } from 'node:stream';
import { spawnOwnCode, type OwnCode } from '@svc/edge';
import { createMessageReader, type MessageFields } from './message-reader.ts';
import { createMessageWriter, type MessageWriter } from './message-writer.ts';

/** A child process that speaks in messages, over a pipe of its own since its code may come over standard input. */
export interface MessageChild {
  readonly pid: number | undefined;
  readonly writer: MessageWriter;
  readonly pipe: Duplex;
  /** A number above zero that `isTaken` does not know. */
  nextId(isTaken: (id: number) => boolean): number;
  /** Ends it at once; `why` is then part of what its end tells. */
  kill(why?: string): void;
}

export interface ChildHandlers {
  readonly onMessage: (kind: number, fields: MessageFields) => void;
  /** Throws if no message of the child may be of that length. */
  readonly checkLength: (bytes: number) => void;
  /** `onMessage` or `checkLength` has thrown: has the child killed. Nothing more is read. */
  readonly onUnreadable: (error: unknown) => void;
  /** Called once, when everything that the child has said is known. */
  readonly onEnd: (end: ChildEnd) => void;
}

export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why it could not be started. */
  readonly failure: string | undefined;
  /** Why it was killed, and the end of what it wrote to standard error. */
  readonly stderr: string;
}

const ID_MAX = 0x7fff_ffff;
const STDERR_MAX_CHARACTERS = 10_000;

/** Throws if the system has no process or file to spare. */
export function startMessageChild(
  code: OwnCode,
  options: Pick<SpawnOptions, 'env' | 'cwd'>,
  { onMessage, checkLength, onUnreadable, onEnd }: ChildHandlers,
): MessageChild {
  const child = spawnOwnCode(code, { ...options, stdio: ['pipe', 'ignore', 'pipe', 'pipe'] });
  // A process that could not be started lacks what the types promise.
  const errors: unknown = child.stderr;
  const pipe: unknown = Reflect.get(Object(child.stdio), 3);
  if (!(errors instanceof Readable && pipe instanceof Duplex))
    throw new Error('no process can be started: look at the limits of processes and of open files');
  let lastId = 0;
  let stderr = '';
  let hasEnded = false;

  function ended(end: Omit<ChildEnd, 'stderr'>): void {
    if (hasEnded) return;
    hasEnded = true;
    onEnd({ ...end, stderr });
  }

  const read = createMessageReader(onMessage, checkLength);
  pipe.on('data', (piece: Buffer) => {
    try {
      read(piece);
    } catch (error) {
      onUnreadable(error);
      pipe.destroy();
    }
  });
  // The child has ended before it has read everything: 'close' tells how.
  pipe.on('error', () => {});
  errors.setEncoding('utf8').on('data', (text: string) => {
    stderr = `${stderr}${text}`.slice(-STDERR_MAX_CHARACTERS);
  });
  child.on('error', ({ message }) => ended({ code: null, signal: null, failure: message }));
  child.on('close', (exitCode, signal) => ended({ code: exitCode, signal, failure: undefined }));
  return {
    pid: child.pid,
    writer: createMessageWriter(pipe),
    pipe,
    nextId(isTaken) {
      do lastId = lastId === ID_MAX ? 1 : lastId + 1;
      while (isTaken(lastId));
      return lastId;
    },
    kill(why) {
      if (why !== undefined) stderr = `${why} ${stderr}`;
      child.kill('SIGKILL');
    },
  };
}
