import type { PrimaryMessages, Questions, WorkerMessages } from './messages.ts';
import type { Wire } from './wire.ts';

export type QuestionKind = keyof Questions;
export type Question<Kind extends QuestionKind> = Questions[Kind]['question'];
export type Answer<Kind extends QuestionKind> = Questions[Kind]['answer'];

/** The primary is gone, or leaves too much open: asking again may help elsewhere, or later. */
export class PrimaryAway extends Error {
  override readonly name = 'PrimaryAway';
}

/** A worker's end. Messages keep their order; those of a kind that nobody listens to yet wait for its listener. */
export interface WorkerChannel {
  /** Rejects when the primary cannot answer; with PrimaryAway when it is gone or leaves too many questions open. */
  ask<Kind extends QuestionKind>(kind: Kind, question: Question<Kind>): Promise<Answer<Kind>>;
  /** Is lost when the primary is gone. */
  tell<Kind extends keyof WorkerMessages>(kind: Kind, message: WorkerMessages[Kind]): void;
  /** One listener for each kind. */
  on<Kind extends keyof PrimaryMessages>(
    kind: Kind,
    listener: (message: PrimaryMessages[Kind]) => void,
  ): void;
  /** Called when the primary is gone; at once when it is already. */
  onLost(listener: () => void): void;
}

/** The primary's end; `worker` is a worker's number. */
export interface PrimaryChannel {
  /** What it throws or rejects with reaches the worker as an error with the same message. */
  answer<Kind extends QuestionKind>(
    kind: Kind,
    respond: (question: Question<Kind>, worker: number) => Answer<Kind> | Promise<Answer<Kind>>,
  ): void;
  on<Kind extends keyof WorkerMessages>(
    kind: Kind,
    listener: (message: WorkerMessages[Kind], worker: number) => void,
  ): void;
  /** Nothing happens where there is no such worker. */
  send<Kind extends keyof PrimaryMessages>(worker: number, kind: Kind, message: PrimaryMessages[Kind]): void;
  /** To all workers that have joined, but `except`. */
  broadcast<Kind extends keyof PrimaryMessages>(
    kind: Kind,
    message: PrimaryMessages[Kind],
    except?: number,
  ): void;
  /** A worker has its start order: what is sent to it now comes right behind that. */
  onJoin(listener: (worker: number) => void): void;
  /** A worker that had joined is gone, before another with its number joins. */
  onLeave(listener: (worker: number) => void): void;
}

/**
 * What a message holds while it is on the wire. Both ends are one program, and the maps of `messages` say what its kind
 * holds where it is sent and where it is heard.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- see above
export type Content = any;

/** How a message stands on the wire. */
export type FromWorker =
  | { readonly type: 'question'; readonly id: number; readonly kind: string; readonly content: Content }
  | { readonly type: 'message'; readonly kind: string; readonly content: Content };

export type FromPrimary =
  | { readonly type: 'answer'; readonly id: number; readonly content: Content }
  | { readonly type: 'refusal'; readonly id: number; readonly reason: string }
  | { readonly type: 'message'; readonly kind: string; readonly content: Content };

/** Messages that wait for a process that takes none: it stands still, and is treated as gone. */
const UNSENT_MAX = 10_000;

/** What is sent, bounded: nothing is dropped out of the middle, the wire ends instead. */
export function createSender<Out>(wire: Wire<Out, unknown>): (message: Out) => void {
  let unsent = 0;
  const sent = (): void => void unsent--;
  return (message) => {
    if (++unsent > UNSENT_MAX) wire.cut();
    wire.send(message, sent);
  };
}
