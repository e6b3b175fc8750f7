import {
  createSender,
  PrimaryAway,
  type Answer,
  type Content,
  type FromPrimary,
  type FromWorker,
  type Wire,
  type WorkerChannel,
} from '../channel.ts';
import type { PrimaryMessages } from '../messages.ts';

const QUESTIONS_MAX = 10_000;
/** Messages without a listener, while a worker starts. */
const WAITING_MAX = 10_000;

interface Open {
  readonly resolve: (answer: Content) => void;
  readonly reject: (error: Error) => void;
}

export function createWorkerChannel(wire: Wire<FromWorker, FromPrimary>): WorkerChannel {
  const send = createSender<FromWorker>(wire);
  const questions = new Map<number, Open>();
  const listeners = new Map<string, (content: Content) => void>();
  let waiting: { readonly kind: string; readonly content: Content }[] = [];
  const whenLost: (() => void)[] = [];
  let lost = false;
  let lastId = 0;

  function take(id: number): Open | undefined {
    const open = questions.get(id);
    questions.delete(id);
    return open;
  }

  wire.onMessage((message) => {
    switch (message.type) {
      case 'answer':
        take(message.id)?.resolve(message.content);
        return;
      case 'refusal':
        take(message.id)?.reject(new Error(message.reason));
        return;
      case 'message': {
        const listener = listeners.get(message.kind);
        if (listener !== undefined) listener(message.content);
        else if (waiting.length < WAITING_MAX) waiting.push(message);
      }
    }
  });
  wire.onEnd(() => {
    lost = true;
    for (const { reject } of questions.values()) reject(primaryIsGone());
    questions.clear();
    for (const listener of whenLost.splice(0)) listener();
  });

  return {
    ask<Kind extends Parameters<WorkerChannel['ask']>[0]>(kind: Kind, content: Content) {
      if (lost) return Promise.reject(primaryIsGone());
      if (questions.size >= QUESTIONS_MAX)
        return Promise.reject(new PrimaryAway('the primary leaves too many questions open'));
      return new Promise<Answer<Kind>>((resolve, reject) => {
        const id = ++lastId;
        questions.set(id, { resolve, reject });
        send({ type: 'question', id, kind, content });
      });
    },
    tell(kind, content) {
      if (!lost) send({ type: 'message', kind, content });
    },
    on<Kind extends keyof PrimaryMessages>(kind: Kind, listener: (message: PrimaryMessages[Kind]) => void) {
      listeners.set(kind, listener);
      const mine = waiting.filter((message) => message.kind === kind);
      waiting = waiting.filter((message) => message.kind !== kind);
      for (const { content } of mine) listener(content);
    },
    onLost(listener) {
      if (lost) listener();
      else whenLost.push(listener);
    },
  };
}

function primaryIsGone(): Error {
  return new PrimaryAway('the primary of the replica is gone');
}
