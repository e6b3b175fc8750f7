import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../network/free-port.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { runProcess, startProcess, type RunningProcess } from '../processes/start-process.ts';

export interface Valkey {
  readonly host: string;
  readonly port: number;
  readonly process: RunningProcess;
  /** What the command line client prints for a command. */
  command(...words: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

export interface ValkeyOptions {
  /** A port that must be free; default any that is. */
  readonly port?: number;
  /** Lines of its configuration. */
  readonly settings?: readonly string[];
  readonly password?: string;
}

/** What speaks the protocol; Debian has the older name only. */
const PROGRAMS = [
  { server: 'valkey-server', client: 'valkey-cli' },
  { server: 'redis-server', client: 'redis-cli' },
] as const;

/** Undefined where neither Valkey nor Redis is installed. */
export function findValkey(): { readonly server: string; readonly client: string } | undefined {
  return PROGRAMS.find(
    ({ server, client }) =>
      spawnSync(server, ['--version']).status === 0 && spawnSync(client, ['--version']).status === 0,
  );
}

/** Starts a Valkey on 127.0.0.1 that writes nothing to disk. */
export async function startValkey(options: ValkeyOptions = {}): Promise<Valkey> {
  const program = findValkey();
  if (program === undefined) throw new Error('cannot start Valkey: neither it nor Redis is installed');
  const { password, settings = [] } = options;
  const folder = await temporaryFolder('valkey');
  const port = options.port ?? (await freePort());
  const configuration = join(folder.path, 'valkey.conf');
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    'save ""',
    'appendonly no',
    `dir ${folder.path}`,
    ...(password === undefined ? [] : [`requirepass ${password}`]),
    ...settings,
  ];
  await writeFile(configuration, `${lines.join('\n')}\n`);
  const process = await startProcess(program.server, [configuration], { orphanSignal: 'SIGKILL' });
  const connection = ['-h', '127.0.0.1', '-p', String(port)];
  const credentials = password === undefined ? [] : ['--no-auth-warning', '-a', password];
  try {
    await process.waitForLine((line) => line.includes('Ready to accept connections'));
  } catch (error) {
    await process.stop();
    await folder.remove();
    throw error;
  }
  return {
    host: '127.0.0.1',
    port,
    process,
    async command(...words) {
      const { stdout, stderr, code } = await runProcess(program.client, [
        ...connection,
        ...credentials,
        ...words,
      ]);
      if (code !== 0) throw new Error(`${words.join(' ')}: ${stdout}${stderr}`);
      return stdout.trim();
    },
    async stop() {
      process.signal('SIGKILL');
      await process.exited;
      await folder.remove();
    },
  };
}
