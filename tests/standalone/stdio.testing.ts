import { startProcess, SVC, type ProcessOptions, type RunningProcess } from '@svc/testkit';

/** What `svc stdio` writes on standard output. */
interface Reply {
  readonly jsonrpc: string;
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** A client that has started `svc stdio`, without a library between. */
export interface StdioClient {
  readonly process: RunningProcess;
  /** Sends bytes as they are. */
  raw(text: string | Uint8Array): void;
  /** Sends a request of the era with a handshake. Resolves to its answer. */
  request(method: string, params?: unknown, id?: number | string): Promise<Reply>;
  /** The same of the era without a handshake. */
  stateless(method: string, params?: Readonly<Record<string, unknown>>, id?: number | string): Promise<Reply>;
  notify(method: string, params?: unknown): void;
  /** Agrees on a revision. */
  initialize(protocolVersion?: string): Promise<Reply>;
  /** The answer that comes with this id. */
  answer(id: number | string | undefined): Promise<Reply>;
  /** All messages so far. Fails the test if a line is none. */
  messages(): readonly Reply[];
  /** Ends standard input. */
  end(): void;
}

const STATELESS = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': STATELESS,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

export async function startStdio(
  args: readonly string[],
  options: Pick<ProcessOptions, 'cwd' | 'env' | 'within'> = {},
): Promise<StdioClient> {
  return startClient(SVC, ['stdio', ...args], options);
}

/** The same for any command line that becomes `svc stdio`. */
export async function startClient(
  program: string,
  args: readonly string[],
  options: Pick<ProcessOptions, 'cwd' | 'env' | 'within'> = {},
): Promise<StdioClient> {
  const process = await startProcess(program, args, { ...options, hasInput: true });
  const { input } = process;
  if (input === undefined) throw new Error('svc stdio has no input');
  let lastId = 0;
  const raw = (text: string | Uint8Array): void => void input.write(text);
  const send = (message: unknown): void => raw(`${JSON.stringify(message)}\n`);
  const answer = async (id: number | string | undefined): Promise<Reply> => {
    const line = await process.waitForLine((text, stream) => {
      if (stream !== 'stdout') return false;
      const reply: Reply = JSON.parse(text);
      return reply.method === undefined && reply.id === id;
    });
    return JSON.parse(line);
  };
  const request: StdioClient['request'] = (method, params, id = ++lastId) => {
    send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) });
    return answer(id);
  };
  return {
    process,
    raw,
    request,
    stateless: (method, params = {}, id) => request(method, { ...params, _meta: META }, id),
    notify: (method, params) => send({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) }),
    async initialize(protocolVersion = '2025-11-25') {
      const clientInfo = { name: 'test', version: '1' };
      const reply = await request('initialize', { protocolVersion, capabilities: {}, clientInfo });
      send({ jsonrpc: '2.0', method: 'notifications/initialized' });
      return reply;
    },
    answer,
    messages: () =>
      process
        .output('stdout')
        .split('\n')
        .filter((line) => line !== '')
        .map((line): Reply => JSON.parse(line)),
    end: () => void input.end(),
  };
}
