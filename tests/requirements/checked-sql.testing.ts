import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createAgentSecret,
  makeAgentFolder,
  runProcess,
  temporaryFolder,
  type ServerAddress,
  type TestDatabase,
} from '@svc/testkit';

export interface Checked {
  readonly code: number | null;
  readonly output: string;
  readonly findings: readonly { readonly level: string; readonly problem: string; readonly remedy: string }[];
}

export interface Checks {
  /** Where the file and the agent are. */
  readonly folder: string;
  /** What `svc-agent check` says of the capabilities, and the file of `--log` of the account. */
  check(
    capabilities: Readonly<Record<string, unknown>>,
    account?: Readonly<Record<string, unknown>>,
  ): Promise<Checked>;
  /** Runs a command on the file of the last check. */
  run(args: readonly string[]): ReturnType<typeof runProcess>;
  /** The log of what ran last. */
  logText(): Promise<string>;
  remove(): Promise<void>;
}

export async function prepareChecks(database: ServerAddress & { readonly name: string }): Promise<Checks> {
  const home = await temporaryFolder('sql');
  const folder = join(home.path, 'agent');
  await makeAgentFolder(folder);
  const { agent_private_key: privateKey } = createAgentSecret();
  return {
    remove: () => home.remove(),
    folder,
    run: (args) => runProcess(join(folder, 'svc-agent'), args, { cwd: folder }),
    logText: () => readFile(join(folder, 'svc-agent.log'), 'utf8'),
    async check(capabilities, account = {}) {
      const { host, port, name, user, password } = database;
      const file = {
        service: { title: 'Test', version: '1.0.0' },
        gateway: { url: 'ws://127.0.0.1:1/ws/agent', agent_private_key: privateKey },
        database: { driver: 'postgres', host, port, name, user, password, ...account },
        capabilities,
      };
      await writeFile(join(folder, 'capability.yaml'), JSON.stringify(file));
      const logFile = join(folder, 'check.log');
      await rm(logFile, { force: true });
      const args = ['check', '--log', logFile];
      const { code, stdout } = await runProcess(join(folder, 'svc-agent'), args, { cwd: folder });
      const log = await readFile(logFile, 'utf8');
      const records: (Checked['findings'][number] & { readonly event: string })[] = log
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line));
      return { code, output: stdout, findings: records.filter(({ event }) => event === 'account_finding') };
    },
  };
}

export interface Account {
  readonly name: string;
  drop(): Promise<void>;
}

/** An account with the password `reader` that may only read the table `book`. */
export async function createReader(database: TestDatabase): Promise<Account> {
  const name = `${database.name}_reader`;
  await database.execute(`
    create role ${name} login password 'reader';
    grant select on book to ${name};
    revoke temporary on database ${database.name} from public;
  `);
  return { name, drop: () => database.execute(`drop owned by ${name}; drop role ${name}`) };
}
