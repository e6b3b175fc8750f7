import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * PostgreSQL refuses to run as root. Then it runs as an account that the system has already: `postgres`,
 * else `nobody`, else the first ordinary one. Undefined: run as we are.
 */
export async function serverAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const chosen = chooseAccount(await readFile('/etc/passwd', 'utf8'));
  if (chosen === undefined) {
    throw new Error(
      'cannot start PostgreSQL as root: /etc/passwd names no other account; run as another user',
    );
  }
  return chosen;
}

export function chooseAccount(passwd: string): Account | undefined {
  const accounts = parsePasswd(passwd);
  const named = (wanted: string): Account | undefined => accounts.find(({ name }) => name === wanted);
  return named('postgres') ?? named('nobody') ?? accounts[0];
}

function parsePasswd(text: string): Account[] {
  return text
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(({ name, uid, gid }) => name !== '' && uid > 0 && gid > 0);
}

/** Whether the account may list the folder, and pass every folder above; judged by owners and modes. */
export async function canEnter(folder: string, account: Account | undefined): Promise<boolean> {
  if (account === undefined) return true;
  let needed = 0b101;
  for (let current = resolve(folder); ; current = dirname(current)) {
    const { uid, gid, mode } = await stat(current);
    const permission = uid === account.uid ? mode >> 6 : gid === account.gid ? mode >> 3 : mode;
    if ((permission & needed) !== needed) return false;
    if (current === dirname(current)) return true;
    needed = 0b001;
  }
}
