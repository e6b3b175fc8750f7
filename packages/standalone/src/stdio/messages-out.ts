import { bytesOf, onOneLine, type Answer } from '@svc/gateway/mcp';
import { sendToOutput } from './own-output.ts';

/** Standard output, which holds nothing but messages. */
export interface MessagesOut {
  /** Queues a message, which becomes one line. Nothing happens for an answer without content. */
  write(answer: Message): void;
  /** Whether so much waits for the client that no more messages may be read. */
  readonly isFull: boolean;
  /** Resolves when all that was queued has left, or never will. */
  drained(): Promise<void>;
  /** Resolves when nobody reads standard output any more. */
  readonly closed: Promise<void>;
}

const LINE_FEED = Buffer.from('\n');
const JOIN_BELOW_BYTES = 65_536;
/** How many answers may wait, and how many bytes of those that the memory for results does not count. */
const UNREAD_MAX = 1000;
const UNREAD_MAX_BYTES = 16 * 1024 * 1024;

type Message = Pick<Answer, 'parts' | 'rest' | 'release'>;

export function createMessagesOut(): MessagesOut {
  const queue: Message[] = [];
  let uncountedBytes = 0;
  let isWriting = false;
  let isClosed = false;
  let idle: (() => void)[] = [];
  let resolveClosed = (): void => {};
  const closed = new Promise<void>((resolve) => (resolveClosed = resolve));

  function wake(): void {
    for (const done of idle) done();
    idle = [];
  }

  process.stdout.on('error', () => {
    if (isClosed) return;
    isClosed = true;
    for (const { release } of queue.splice(0)) release?.();
    uncountedBytes = 0;
    wake();
    resolveClosed();
  });

  function next(): Message | undefined {
    const message = queue.shift();
    if (message !== undefined) uncountedBytes -= uncountedBytesOf(message);
    return message;
  }

  /** Resolves when the reader has taken it, or is gone. */
  function written(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      sendToOutput(bytes, resolve);
    });
  }

  async function writeAll(): Promise<void> {
    isWriting = true;
    for (let answer = next(); answer !== undefined; answer = next()) {
      const { parts, rest, release } = answer;
      const head = Buffer.concat(parts.map((part) => onOneLine(bytesOf(part))));
      if (rest === undefined && head.length < JOIN_BELOW_BYTES) {
        const small = [head, LINE_FEED];
        // What has gathered meanwhile leaves with one call of the system.
        const releases = [release];
        let size = head.length;
        for (let later = queue[0]; later !== undefined && later.rest === undefined; [later] = queue) {
          const line = Buffer.concat(later.parts.map((part) => onOneLine(bytesOf(part))));
          if (size + line.length > JOIN_BELOW_BYTES) break;
          next();
          small.push(line, LINE_FEED);
          size += line.length;
          releases.push(later.release);
        }
        await written(Buffer.concat(small));
        for (const each of releases) each?.();
        continue;
      }
      await written(head);
      for (const piece of rest ?? []) {
        if (isClosed) break;
        await written(onOneLine(piece));
      }
      await written(LINE_FEED);
      release?.();
    }
    isWriting = false;
    wake();
  }

  return {
    closed,
    get isFull() {
      return queue.length > UNREAD_MAX || uncountedBytes > UNREAD_MAX_BYTES;
    },
    write(answer) {
      if (answer.parts.length === 0) return;
      if (isClosed) {
        answer.release?.();
        return;
      }
      queue.push(answer);
      uncountedBytes += uncountedBytesOf(answer);
      // Those of this turn of the event loop leave together.
      if (!isWriting) {
        isWriting = true;
        setImmediate(() => void writeAll());
      }
    },
    async drained() {
      if (isWriting && !isClosed) await new Promise<void>((resolve) => idle.push(resolve));
    },
  };
}

/** An answer that releases memory has had its rows counted. */
function uncountedBytesOf({ parts, release }: Message): number {
  return release === undefined ? parts.reduce((sum, part) => sum + part.length, 0) : 0;
}
