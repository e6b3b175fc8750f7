import { errorText } from '@svc/edge';
import {
  createSender,
  type Answer,
  type Content,
  type FromPrimary,
  type FromWorker,
  type PrimaryChannel,
  type Question,
  type QuestionKind,
  type Wire,
} from '../channel.ts';
import type { WorkerMessages } from '../messages.ts';

export interface PrimaryEnd extends PrimaryChannel {
  /** From now on this process is the worker, until its wire ends. */
  attach(worker: number, wire: Wire<FromPrimary, FromWorker>): void;
}

interface Attached {
  readonly send: (message: FromPrimary) => void;
  joined: boolean;
}

type Respond = (content: Content, worker: number) => Content;

export function createPrimaryChannel(): PrimaryEnd {
  const attached = new Map<number, Attached>();
  const responders = new Map<string, Respond>();
  const listeners = new Map<string, (content: Content, worker: number) => void>();
  const whenJoined: ((worker: number) => void)[] = [];
  const whenLeft: ((worker: number) => void)[] = [];

  async function answer(worker: number, to: Attached, message: FromWorker & { type: 'question' }) {
    const { id, kind, content } = message;
    try {
      const respond = responders.get(kind);
      if (respond === undefined) throw new Error(`the primary answers no ${kind}`);
      const given = respond(content, worker);
      // An answer that is known at once is sent without an await, so that it keeps its place among the messages.
      to.send({ type: 'answer', id, content: given instanceof Promise ? await given : given });
    } catch (error) {
      to.send({ type: 'refusal', id, reason: errorText(error) });
      return;
    }
    if (kind !== 'start' || to.joined || attached.get(worker) !== to) return;
    to.joined = true;
    for (const listener of whenJoined) listener(worker);
  }

  function leave(worker: number): void {
    const joined = attached.get(worker)?.joined;
    attached.delete(worker);
    if (joined === true) for (const listener of whenLeft) listener(worker);
  }

  return {
    attach(worker, wire) {
      leave(worker);
      const to: Attached = { send: createSender<FromPrimary>(wire), joined: false };
      attached.set(worker, to);
      wire.onMessage((message) => {
        if (message.type === 'question') void answer(worker, to, message);
        else if (attached.get(worker) === to) listeners.get(message.kind)?.(message.content, worker);
      });
      wire.onEnd(() => {
        if (attached.get(worker) === to) leave(worker);
      });
    },
    answer<Kind extends QuestionKind>(
      kind: Kind,
      respond: (question: Question<Kind>, worker: number) => Answer<Kind> | Promise<Answer<Kind>>,
    ) {
      responders.set(kind, respond);
    },
    on<Kind extends keyof WorkerMessages>(
      kind: Kind,
      listener: (message: WorkerMessages[Kind], worker: number) => void,
    ) {
      listeners.set(kind, listener);
    },
    send(worker, kind, content) {
      attached.get(worker)?.send({ type: 'message', kind, content });
    },
    broadcast(kind, content, except) {
      for (const [worker, { joined, send }] of attached) {
        if (joined && worker !== except) send({ type: 'message', kind, content });
      }
    },
    get workers() {
      return new Set([...attached].flatMap(([worker, { joined }]) => (joined ? [worker] : [])));
    },
    onJoin: (listener) => void whenJoined.push(listener),
    onLeave: (listener) => void whenLeft.push(listener),
  };
}
