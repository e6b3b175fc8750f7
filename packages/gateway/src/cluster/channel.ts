import type { ChildProcess } from 'node:child_process';
import type { PrimaryMessages, Questions, WorkerMessages } from './messages.ts';

export type QuestionKind = keyof Questions;
export type Question<Kind extends QuestionKind> = Questions[Kind]['question'];
export type Answer<Kind extends QuestionKind> = Questions[Kind]['answer'];

/** The primary is gone, or leaves too many questions open: asking elsewhere or later may help. */
export class PrimaryAway extends Error {
  override readonly name = 'PrimaryAway';
}

/** A worker's end. Messages keep their order; messages of a kind without a listener wait for one. */
export interface WorkerChannel {
  /** Rejects when the primary cannot answer; with PrimaryAway when it is gone or leaves too many questions open. */
  ask<Kind extends QuestionKind>(kind: Kind, question: Question<Kind>): Promise<Answer<Kind>>;
  /** Does nothing if the primary is gone. */
  tell<Kind extends keyof WorkerMessages>(kind: Kind, message: WorkerMessages[Kind]): void;
  /** One listener for each kind. */
  on<Kind extends keyof PrimaryMessages>(
    kind: Kind,
    listener: (message: PrimaryMessages[Kind]) => void,
  ): void;
  /** Calls the listener when the primary is gone; at once if it is gone already. */
  onLost(listener: () => void): void;
}

/** The primary's end; `worker` is a worker's number. */
export interface PrimaryChannel {
  /** If `respond` throws or rejects, the worker gets an error with the same message. */
  answer<Kind extends QuestionKind>(
    kind: Kind,
    respond: (question: Question<Kind>, worker: number) => Answer<Kind> | Promise<Answer<Kind>>,
  ): void;
  on<Kind extends keyof WorkerMessages>(
    kind: Kind,
    listener: (message: WorkerMessages[Kind], worker: number) => void,
  ): void;
  /** Does nothing if there is no such worker. */
  send<Kind extends keyof PrimaryMessages>(worker: number, kind: Kind, message: PrimaryMessages[Kind]): void;
  /** To all workers that have joined, but `except`. */
  broadcast<Kind extends keyof PrimaryMessages>(
    kind: Kind,
    message: PrimaryMessages[Kind],
    except?: number,
  ): void;
  /** The workers that have joined and are still there. */
  readonly workers: ReadonlySet<number>;
  /** A worker has got its start order: messages that the listener sends arrive right after it. */
  onJoin(listener: (worker: number) => void): void;
  /** A worker that had joined is gone, before another with its number joins. */
  onLeave(listener: (worker: number) => void): void;
}

/**
 * The content of a message on the wire. Both ends are one program, and the maps of `messages` give its type where it is
 * sent and where it is received.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- see above
export type Content = any;

/** The messages on the wire. */
export type FromWorker =
  | { readonly type: 'question'; readonly id: number; readonly kind: string; readonly content: Content }
  | { readonly type: 'message'; readonly kind: string; readonly content: Content };

export type FromPrimary =
  | { readonly type: 'answer'; readonly id: number; readonly content: Content }
  | { readonly type: 'refusal'; readonly id: number; readonly reason: string }
  | { readonly type: 'message'; readonly kind: string; readonly content: Content };

/** A process for which more messages wait has stopped reading, and is treated as gone. */
const UNSENT_MAX = 10_000;

/** Sends messages and bounds those that wait: no message is left out, the wire ends instead. */
export function createSender<Out>(wire: Wire<Out, unknown>): (message: Out) => void {
  let unsent = 0;
  const sent = (): void => void unsent--;
  return (message) => {
    if (++unsent > UNSENT_MAX) wire.cut();
    wire.send(message, sent);
  };
}

/** One end of a connection between two processes. It carries messages in order, until one process is gone. */
export interface Wire<Out, In> {
  /** `sent` is called once the message has left this process or never will. */
  send(message: Out, sent: () => void): void;
  onMessage(listener: (message: In) => void): void;
  /** Called once. */
  onEnd(listener: () => void): void;
  /** Ends it from this side. */
  cut(): void;
}

/** `peer`: this process for the wire to its parent, or a child. */
export function ipcWire<Out extends object, In>(peer: NodeJS.Process | ChildProcess): Wire<Out, In> {
  return {
    send(message, sent) {
      // Without the callback, a peer that has just gone would cause an error that nothing handles.
      if (peer.connected) peer.send?.(message, undefined, undefined, () => sent());
      else sent();
    },
    onMessage: (listener) => void peer.on('message', listener),
    onEnd: (listener) => void peer.once('disconnect', listener),
    cut() {
      if (peer.connected) peer.disconnect?.();
    },
  };
}
