import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Attack, Spent } from './attacker.ts';

/** By a process of its own, so that its CPU can be told. */
export async function attack(plan: Attack): Promise<Spent> {
  const attacker = fork(fileURLToPath(new URL('attacker.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
  });
  try {
    const answered = once(attacker, 'message');
    const died = once(attacker, 'exit').then(() => {
      throw new Error('cannot measure: the attacker ended');
    });
    died.catch(() => {});
    attacker.send(plan);
    const [spent]: Spent[] = await Promise.race([answered, died]);
    if (spent === undefined) throw new Error('cannot measure: the attacker said nothing');
    return spent;
  } finally {
    if (attacker.connected) attacker.disconnect();
  }
}
