import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { SVC } from '@svc/testkit';

interface Reply {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A client for tens of thousands of messages: it keeps none that `onReply` has seen. */
export interface QuickClient {
  onReply: (reply: Reply) => void;
  /** Called for each line of standard error. */
  onSaid: (line: string) => void;
  /** Messages of one call leave with one write. */
  send(...messages: readonly object[]): void;
  /** Ends the input; resolves to the exit code. */
  end(): Promise<number | null>;
  kill(): void;
}

export function toolsCall(id: number | string, name: string, args: object): object {
  return { id, method: 'tools/call', params: { name, arguments: args } };
}

/** Starts `svc stdio` and agrees on a revision. */
export async function startQuickClient(args: readonly string[]): Promise<QuickClient> {
  const child = spawn(process.execPath, [SVC, 'stdio', ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  const client: QuickClient = {
    onReply() {},
    onSaid() {},
    send(...messages) {
      child.stdin.write(
        messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''),
      );
    },
    async end() {
      child.stdin.end();
      const [code]: (number | null)[] = await exited;
      return code ?? null;
    },
    kill: () => void child.kill('SIGKILL'),
  };
  createInterface({ input: child.stderr }).on('line', (line) => client.onSaid(line));
  const initialized = new Promise<void>((resolve, reject) => {
    client.onReply = ({ error }) => (error === undefined ? resolve() : reject(new Error(error.message)));
  });
  createInterface({ input: child.stdout }).on('line', (line) => client.onReply(JSON.parse(line)));
  const clientInfo = { name: 'test', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  client.send({ id: 'i', method: 'initialize', params });
  await initialized;
  client.onReply = () => {};
  client.send({ method: 'notifications/initialized' });
  return client;
}
