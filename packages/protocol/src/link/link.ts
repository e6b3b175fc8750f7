import { CLOSE, ProtocolError, type CloseCode } from '../rules/close-code.ts';
import type { ProtocolVersion } from '../rules/limits.ts';
import { decodeMessage } from '../frames/decode.ts';
import type { Frame } from '../frames/frame.ts';
import { heard, wake, type Liveness } from './liveness.ts';
import { createSendQueue, type SendQueue, type SendQueueSocket } from './send-queue.ts';

/** Frames that concern calls or the life of the connection; ping and pong are answered here. */
export type LinkFrame = Exclude<Frame, { type: 'ping' | 'pong' }>;

export interface LinkSocket extends SendQueueSocket {
  close(code: number, reason: string): void;
  terminate(): void;
}

export interface LinkOptions {
  readonly socket: LinkSocket;
  readonly version: ProtocolVersion;
  /** May throw ProtocolError, which closes the link. */
  readonly onFrame: (frame: LinkFrame) => void;
  /** Work that arrived frames have begun and not finished: a later ping is answered after it. */
  readonly beforePong?: () => Promise<void> | undefined;
  /** Called once, whoever ended the link; `reason` is fit for a log. */
  readonly onEnd: (reason: string) => void;
  readonly now: () => number;
  readonly random: () => number;
}

/** One authenticated connection: frames in, frames out, and whether the peer is alive. */
export interface Link {
  readonly sendQueue: SendQueue;
  receive(message: Buffer): void;
  /** Resolves to true once the other end has acted on every frame that had left before, to false when the link ends first. */
  ping(): Promise<boolean>;
  /** Closes with a closing handshake, and by force when the peer does not answer it within a second. */
  end(code: CloseCode, reason: string): void;
  socketClosed(reason: string): void;
}

const CLOSE_HANDSHAKE_MS = 1000;

export function createLink(options: LinkOptions): Link {
  const { socket, version, now, random } = options;
  const sendQueue = createSendQueue(socket, version);
  let lastHeardAt = now();
  let liveness: Liveness = heard(lastHeardAt, random());
  let ended = false;
  let livenessTimer = setTimeout(wakeSoon, liveness.wakeAt - lastHeardAt);
  let terminateTimer: NodeJS.Timeout | undefined;
  const pings = new Map<number, (isAnswered: boolean) => void>();

  /** Node.js runs late timers before it reads sockets. Bytes that wait there must count before the peer is judged. */
  function wakeSoon(): void {
    setImmediate(onWake);
  }

  function newToken(): number {
    return Math.floor(random() * 0x1_0000_0000);
  }

  function onWake(): void {
    if (ended) return;
    const step = wake(liveness, now(), lastHeardAt, random());
    if (step.action === 'dead') {
      finish('the peer fell silent');
      socket.terminate();
      return;
    }
    if (step.action === 'ping') sendQueue.sendControl({ type: 'ping', token: newToken() });
    liveness = step.next;
    livenessTimer = setTimeout(wakeSoon, Math.max(1, liveness.wakeAt - now()));
  }

  function finish(reason: string): void {
    if (ended) return;
    ended = true;
    clearTimeout(livenessTimer);
    sendQueue.close();
    for (const settle of pings.values()) settle(false);
    options.onEnd(reason);
  }

  function end(code: CloseCode, reason: string): void {
    if (ended) return;
    socket.close(code, reason);
    terminateTimer = setTimeout(() => socket.terminate(), CLOSE_HANDSHAKE_MS);
    finish(reason);
  }

  function answer(token: number, before: Promise<void> | undefined): void {
    if (before === undefined) sendQueue.sendControl({ type: 'pong', token });
    else void before.then(() => ended || answer(token, undefined));
  }

  function dispatch(frame: Frame): void {
    switch (frame.type) {
      case 'ping':
        answer(frame.token, options.beforePong?.());
        return;
      case 'pong':
        pings.get(frame.token)?.(true);
        pings.delete(frame.token);
        return;
      default:
        options.onFrame(frame);
    }
  }

  return {
    sendQueue,
    receive(message) {
      lastHeardAt = now();
      try {
        for (const frame of decodeMessage(message, version)) {
          if (ended) return;
          dispatch(frame);
        }
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
        end(error.code, error.message);
      }
    },
    async ping() {
      if (ended) return false;
      let token = newToken();
      while (pings.has(token)) token = (token + 1) >>> 0;
      return new Promise((resolve) => {
        pings.set(token, resolve);
        sendQueue.sendControl({ type: 'ping', token });
      });
    },
    end,
    socketClosed(reason) {
      clearTimeout(terminateTimer);
      finish(reason);
    },
  };
}

export function closeReason(code: number, reason: string): string {
  const name = Object.entries(CLOSE).find(([, value]) => value === code)?.[0];
  const text = reason === '' ? (name ?? (code === 1006 ? 'connection lost' : 'closed')) : reason;
  return `${text} (${code})`;
}
