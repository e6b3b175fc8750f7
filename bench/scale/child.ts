import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A program of this folder as a process of its own; it ends with this one, whose channel it listens to. */
export interface Child<Order, Answer> {
  /** One order at a time. */
  ask(order: Order): Promise<Answer>;
  /** Resolves when it has ended. */
  stop(): Promise<void>;
}

export async function startChild<Order extends object, Answer>(file: string): Promise<Child<Order, Answer>> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), { execArgv: ['--import', 'tsx'] });
  const exited = once(child, 'exit');
  const died = exited.then(() => {
    throw new Error(`cannot go on: ${file} ended`);
  });
  died.catch(() => {});
  await Promise.race([once(child, 'message'), died]);
  return {
    async ask(order) {
      const answered = once(child, 'message');
      child.send(order);
      const [answer]: Answer[] = await Promise.race([answered, died]);
      if (answer === undefined) throw new Error(`cannot go on: ${file} said nothing`);
      return answer;
    },
    async stop() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

/** Makes this process such a program, which answers each order. */
export function answerOrders<Order, Answer>(answer: (order: Order) => Answer | Promise<Answer>): void {
  const handle = async (order: Order): Promise<void> => {
    process.send?.(await answer(order));
  };
  process.on('message', (order: Order) => void handle(order));
  process.on('disconnect', () => process.exit());
  process.send?.('ready');
}
