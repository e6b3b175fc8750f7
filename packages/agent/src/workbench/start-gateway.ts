import { execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { isSea } from 'node:sea';
import { WITHOUT_DEBUGGER } from '@svc/edge/ignore-signals';
import { createRawKeyPair } from '@svc/protocol';

/** A gateway on loopback with one agent and one API key of its own. */
export interface WorkbenchGateway {
  /** Without a slash at its end. */
  readonly url: string;
  readonly port: number;
  readonly apiKey: string;
  /** For operators; undefined if the gateway has none. */
  readonly console: { readonly url: string; readonly token: string } | undefined;
  /** Of the agent: 32-byte Ed25519 seed. */
  readonly privateKeySeed: Uint8Array;
  onRecord(listener: (record: GatewayRecord) => void): void;
  /** Resolves when it has ended, to the end of its standard error. Never rejects. */
  readonly ended: Promise<string>;
  /** It may still answer running calls for a moment. */
  stop(): Promise<void>;
}

/** A line of its log. */
export type GatewayRecord = Readonly<Record<string, unknown>>;

export interface GatewayOptions {
  readonly file: string;
  /** The first to try; 0 for any. */
  readonly port: number;
  readonly keyName: string;
  /** As `svc-gateway create-key` takes them. */
  readonly claims: readonly string[];
  readonly env: Environment;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The gateway could not be started; the message is fit for standard error. */
export class GatewayFailed extends Error {
  /** Whether its arguments are wrong. */
  readonly isUsage: boolean;
  constructor(message: string, isUsage = false) {
    super(message);
    this.name = 'GatewayFailed';
    this.isUsage = isUsage;
  }
}

/** The gateway gets these variables only: neither settings of its own nor secrets of the agent. */
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'SystemRoot', 'TZ', 'NODE_OPTIONS'];
const STDERR_MAX_CHARACTERS = 4000;
const STOPPED_WITHIN_MS = 3000;
const TOKEN_BYTES = 32;
/** Another process may take a port after it was found free. */
const ATTEMPTS = 3;
const MOST_PORTS = 100;

/** Writes nothing to a disk. The environment of the gateway has keys only in forms that can be public. */
export async function startGateway(options: GatewayOptions): Promise<WorkbenchGateway> {
  const { seed, publicKey } = createRawKeyPair();
  const { apiKey, record } = await createKey(options);
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort(options.port);
    if (port === undefined) throw new GatewayFailed(`no port from ${options.port} on is free on 127.0.0.1`);
    const started = await listen(options.file, {
      ...inherited(options.env),
      GATEWAY_ADDR: `127.0.0.1:${port}`,
      GATEWAY_AGENT_PUBLIC_KEY: publicKey,
      GATEWAY_API_KEYS_JSON: JSON.stringify([record]),
      GATEWAY_CONSOLE_ADDR: '127.0.0.1:0',
      GATEWAY_CONSOLE_TOKEN_SHA256: createHash('sha256').update(token).digest('hex'),
    });
    if (!('problem' in started)) {
      const { consoleAddress, ...gateway } = started;
      return {
        ...gateway,
        url: `http://127.0.0.1:${port}`,
        port,
        apiKey,
        console: consoleAddress === undefined ? undefined : { url: consoleAddress, token },
        privateKeySeed: Buffer.from(seed, 'base64url'),
      };
    }
    if (attempt === ATTEMPTS) throw new GatewayFailed(`svc-gateway does not start: ${started.problem}`);
  }
}

/** The gateway itself makes the key and its hash. */
async function createKey(
  options: GatewayOptions,
): Promise<{ readonly apiKey: string; readonly record: unknown }> {
  const { file, keyName, claims, env } = options;
  const claimFlags = claims.map((claim) => `--claim=${claim}`);
  const flags = ['--name', keyName, '--capabilities', '*', ...claimFlags, '--json'];
  return new Promise((resolve, reject) => {
    const [program, ...words] = commandOf(file, 'create-key', ...flags);
    execFile(program, words, { env: inherited(env) }, (error, stdout, stderr) => {
      if (error === null) {
        const { api_key: apiKey, record } = JSON.parse(stdout);
        resolve({ apiKey, record });
        return;
      }
      const said = stderr.trim().replace(/^svc-gateway: /, '') || `cannot run ${file}: ${error.message}`;
      reject(new GatewayFailed(said, error.code === 2));
    });
  });
}

interface Listening extends Pick<WorkbenchGateway, 'onRecord' | 'ended' | 'stop'> {
  readonly consoleAddress: string | undefined;
}

function listen(file: string, env: Environment): Promise<Listening | { readonly problem: string }> {
  const [program, ...words] = commandOf(file);
  const child = spawn(program, words, {
    env: { ...env, SVC_GATEWAY_ENDS_WITH_STDIN: '1' },
    stdio: ['pipe', 'pipe', 'pipe'],
    // Ctrl-C at the terminal reaches the workbench alone, which ends the gateway after the agent.
    detached: true,
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = `${stderr}${text}`.slice(-STDERR_MAX_CHARACTERS);
  });
  // The gateway may end before this is closed.
  child.stdin.on('error', () => {});
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', () => resolve(stderr.trim()));
  });
  let consoleAddress: string | undefined;
  let onRecord = (_record: GatewayRecord): void => {};
  return new Promise((resolve) => {
    void ended.then((problem) => resolve({ problem }));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const record: GatewayRecord = JSON.parse(line);
      onRecord(record);
      if (record['event'] === 'console_listening') consoleAddress = String(record['url']);
      if (record['event'] !== 'listening') return;
      resolve({
        consoleAddress,
        onRecord: (listener) => void (onRecord = listener),
        ended,
        async stop() {
          child.stdin.end();
          const timer = setTimeout(() => child.kill('SIGKILL'), STOPPED_WITHIN_MS);
          await ended;
          clearTimeout(timer);
        },
      });
    });
  });
}

/** A single executable contains Node.js and runs only its own code, and so does the gateway beside it. */
function commandOf(file: string, ...words: readonly string[]): [string, ...string[]] {
  return isSea() ? [file, ...words] : [process.execPath, ...WITHOUT_DEBUGGER, file, ...words];
}

function inherited(env: Environment): Environment {
  return Object.fromEntries(INHERITED.map((name) => [name, env[name]]));
}

/** `port` or the next free one on 127.0.0.1; any for 0. Undefined if a hundred are taken. */
async function freePort(port: number): Promise<number | undefined> {
  for (let tried = port; tried < port + MOST_PORTS && tried <= 65_535; tried += 1) {
    const found = await tryPort(tried);
    if (found !== undefined) return found;
  }
  return undefined;
}

function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? address?.port : undefined));
    });
  });
}
