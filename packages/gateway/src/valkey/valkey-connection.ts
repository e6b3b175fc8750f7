import { isIP } from 'node:net';
import { errorText } from '@svc/edge';
import type { RedisClientType } from '@redis/client';
import type { ValkeyConfig } from '../config/model.ts';
import { guardAnswers } from './guard-answers.ts';

export type ValkeyClient = RedisClientType;

/** A connection to Valkey that is made again whenever Valkey does not answer in time. */
export interface ValkeyConnection {
  readonly up: boolean;
  /**
   * Resolves to the answer of `command`, or to undefined if none comes in time. Undefined at once while the connection is
   * known not to answer. Never rejects.
   */
  ask<T>(
    command: (client: ValkeyClient) => Promise<T>,
    withinMs?: number,
  ): Promise<T | undefined> | undefined;
  close(): void;
}

/** What Valkey may send. The connection ends when it sends more. */
export interface AnswerBounds {
  /** Of one answer. */
  readonly answerBytes: number;
  /** The channel whose messages are expected, if any. */
  readonly channel?: string;
}

export interface ValkeyConnectionOptions {
  readonly valkey: ValkeyConfig;
  readonly bounds: AnswerBounds;
  /** How long an answer may take. */
  readonly answerMs: number;
  /** How many failures in a row, at least `answerMs` apart, it takes until the connection counts as lost. */
  readonly tries: number;
  /** A new connection is used once this has resolved, which may take `answerMs`. */
  readonly probe: (client: ValkeyClient) => Promise<unknown>;
  readonly onUp: () => void;
  /** Also called if the first connection cannot be made. Called once until the connection is up again. */
  readonly onLost: (reason: string) => void;
}

/** The time from one try to connect to the next, and how long one may take. */
const RETRY_MS = 1000;
const CONNECT_MS = 900;
/** An error text of Valkey may be as long as an answer. */
const MAX_PROBLEM_CHARACTERS = 500;

interface Connected {
  readonly client: ValkeyClient;
  /** Answers that are overdue: the answer to a new command would come after them. */
  overdue: number;
  failures: number;
  failedAt: number;
}

/** Connects at once, in the background. */
export function keepValkeyConnection(options: ValkeyConnectionOptions): ValkeyConnection {
  const { valkey, bounds, answerMs, tries, probe, onUp, onLost } = options;
  let connected: Connected | undefined;
  let told = false;
  let closed = false;
  let retry: NodeJS.Timeout | undefined;

  function lose(client: ValkeyClient, reason: string): void {
    if (connected?.client !== client) return;
    connected = undefined;
    client.destroy();
    again(reason, RETRY_MS);
  }

  function again(reason: string, inMs: number): void {
    if (closed) return;
    retry = setTimeout(() => void dial(), inMs).unref();
    if (told) return;
    told = true;
    onLost(reason);
  }

  async function dial(): Promise<void> {
    const startedAt = performance.now();
    let client: ValkeyClient | undefined;
    try {
      client = await connectToValkey(valkey, CONNECT_MS, bounds, lose);
      if ((await within(answerMs, probe(client))) === LATE) throw new Error(lateness());
      if (closed) {
        client.destroy();
        return;
      }
      connected = { client, overdue: 0, failures: 0, failedAt: Number.NEGATIVE_INFINITY };
      told = false;
      onUp();
    } catch (error) {
      client?.destroy();
      again(valkeyProblem(error), Math.max(0, RETRY_MS - (performance.now() - startedAt)));
    }
  }

  function lateness(): string {
    return `no answer within ${answerMs} ms`;
  }

  function failed(one: Connected, reason: string): void {
    // Commands that wait together fail together, which counts as one failure.
    if (performance.now() - one.failedAt < answerMs) return;
    one.failedAt = performance.now();
    one.failures++;
    if (one.failures >= tries) lose(one.client, reason);
  }

  async function answerOf<T>(one: Connected, answer: Promise<T>, withinMs: number): Promise<T | undefined> {
    try {
      const value = await within(withinMs, answer);
      if (value !== LATE) {
        one.failures = 0;
        return value;
      }
      one.overdue++;
      const arrived = (): void => void one.overdue--;
      answer.then(arrived, arrived);
      if (withinMs >= answerMs) failed(one, lateness());
    } catch (error) {
      failed(one, valkeyProblem(error));
    }
    return undefined;
  }

  void dial();
  return {
    get up() {
      return connected !== undefined;
    },
    ask(command, withinMs = answerMs) {
      const one = connected;
      if (one === undefined) return undefined;
      if (one.overdue > 0) {
        failed(one, lateness());
        return undefined;
      }
      return answerOf(one, command(one.client), Math.min(withinMs, answerMs));
    },
    close() {
      closed = true;
      clearTimeout(retry);
      connected?.client.destroy();
      connected = undefined;
    },
  };
}

/** Rejects if the connection is refused or takes too long. `onLost` is called once when it ends later. */
export async function connectToValkey(
  { host, port, tls, username, password, database }: ValkeyConfig,
  withinMs: number,
  { answerBytes, channel }: AnswerBounds,
  onLost: (client: ValkeyClient, reason: string) => void = () => undefined,
): Promise<ValkeyClient> {
  // Imported only here, because loading it would take most of the time of a start.
  const { createClient } = await import('@redis/client');
  const givenUp = new AbortController();
  const client: ValkeyClient = createClient({
    socket: {
      host,
      port,
      connectTimeout: withinMs,
      reconnectStrategy: false,
      // The library restarts its own time limit with each byte of a TLS handshake.
      signal: givenUp.signal,
      // An address is not a server name; it is compared with the certificate nevertheless.
      ...(tls ? { tls: true, ...(isIP(host) === 0 ? { servername: host } : {}) } : {}),
    },
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    database,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
  });
  guardAnswers(client, answerBytes, channel);
  client.on('error', (error: unknown) => {
    client.destroy();
    onLost(client, valkeyProblem(error));
  });
  const connecting = client.connect();
  try {
    if ((await within(withinMs, connecting)) !== LATE) return client;
  } catch (error) {
    client.destroy();
    throw error;
  }
  // The connection may still come up, but nothing would use it.
  connecting.then(() => client.destroy()).catch(() => undefined);
  client.destroy();
  givenUp.abort();
  throw new Error(
    `no answer within ${withinMs} ms${tls ? '; GATEWAY_VALKEY_URL begins with rediss: does that port speak TLS?' : ''}`,
  );
}

/** What went wrong, with the settings to check if Valkey refuses the login. */
export function valkeyProblem(error: unknown): string {
  const text = errorText(error).slice(0, MAX_PROBLEM_CHARACTERS).replace(/\.$/, '');
  return /^(?:WRONGPASS|NOAUTH|NOPERM)/.test(text)
    ? `${text} (see GATEWAY_VALKEY_PASSWORD_FILE, and the user in GATEWAY_VALKEY_URL)`
    : text;
}

export const LATE: unique symbol = Symbol('late');

/** A process that was busy itself first takes in what has arrived meanwhile, before it calls an answer late. */
export async function within<T>(ms: number, answer: Promise<T>): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => setImmediate(resolve, LATE), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
