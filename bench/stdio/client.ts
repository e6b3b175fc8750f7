import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** A folder in which the program finds no settings. */
  readonly cwd: string;
}

type Result = Readonly<Record<string, unknown>>;

/** A client of MCP that has started its server. */
export interface StdioClient {
  readonly pid: number;
  /** Rejects when the answer is an error, or the server ends without one. */
  request(method: string, params: unknown): Promise<Result>;
  notify(method: string): void;
  /** Ends the server's input, then the server, if that does not suffice. Resolves when it has ended. */
  stop(): Promise<void>;
}

interface Reply {
  readonly id?: number;
  readonly result?: Result & { readonly isError?: boolean };
  readonly error?: unknown;
}

interface Waiting {
  resolve(result: Result): void;
  reject(error: Error): void;
}

const STOP_MS = 3000;
/** The end of what a server said on standard error is enough to see why it fails. */
const KEPT_CHARACTERS = 4000;

export function startClient({ command, args, env, cwd }: Command): StdioClient {
  const { PATH = '', HOME = '' } = process.env;
  const server = spawn(command, args, { cwd, env: { PATH, HOME, ...env }, stdio: 'pipe' });
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let said = '';
  const ended = once(server, 'close');
  server.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = `${said}${text}`.slice(-KEPT_CHARACTERS);
  });
  const failAll = (why: string): void => {
    for (const request of waiting.values()) request.reject(new Error(`${command}: ${why}\n${said}`));
    waiting.clear();
  };
  server.on('error', ({ message }) => failAll(message)).on('close', () => failAll('it has ended'));
  // It may end before it has read all.
  server.stdin.on('error', () => {});
  createInterface({ input: server.stdout }).on('line', (line) => {
    // MCP Toolbox prints a notice of its own among the messages.
    if (!line.startsWith('{')) return;
    const { id = 0, result, error }: Reply = JSON.parse(line);
    const request = waiting.get(id);
    waiting.delete(id);
    if (result === undefined || result.isError === true) {
      request?.reject(new Error(`${command} answers ${JSON.stringify(error ?? result)}`));
    } else request?.resolve(result);
  });
  const send = (message: object): void =>
    void server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  return {
    pid: server.pid ?? 0,
    request: (method, params) =>
      new Promise((resolve, reject) => {
        waiting.set(++lastId, { resolve, reject });
        send({ id: lastId, method, params });
      }),
    notify: (method) => send({ method }),
    async stop() {
      server.stdin.end();
      const timer = setTimeout(() => server.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}
