import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Attack, Spent } from './attacker.ts';

export interface Attacker {
  /** To be called once; what is kept open stays so until `stop`. */
  run(plan: Attack): Promise<Spent>;
  stop(): void;
}

/** A process of its own, so that its CPU can be told; resolves when its code is loaded. */
export async function startAttacker(): Promise<Attacker> {
  const child = fork(fileURLToPath(new URL('attacker.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
  });
  const died = once(child, 'exit').then(() => {
    throw new Error('cannot measure: the attacker ended');
  });
  died.catch(() => {});
  await Promise.race([once(child, 'message'), died]);
  return {
    async run(plan) {
      const answered = once(child, 'message');
      child.send(plan);
      const [spent]: Spent[] = await Promise.race([answered, died]);
      if (spent === undefined) throw new Error('cannot measure: the attacker said nothing');
      return spent;
    },
    stop() {
      if (child.connected) child.disconnect();
    },
  };
}
