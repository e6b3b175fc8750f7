import type { AbortSignalLike } from '@svc/edge';
import net from 'node:net';
import type tls from 'node:tls';
import pg from 'pg';
import type { PostgresConfig } from '../config/config.ts';
import { DatabaseError } from '../../driver/errors.ts';
import type { PooledSession } from '../../sessions/pool-base.ts';
import type { CancelTarget } from './cancel-request.ts';
import { isWithoutTls, kindOf, unavailable } from './server-errors.ts';
import { pipelinedConnection, sendAll, type PipelinedConnection } from './pipeline.ts';
import { MessageReader } from './message-reader.ts';
import { PipelineQueue } from './pipeline-queue.ts';
import { whyOther, whyUnsupported } from './server-support.ts';
import { isKept, keepSettings, RELEASE_LOCKS, TRY_WATCH } from './transaction-settings.ts';

export interface DatabaseSession extends PipelinedConnection, PooledSession {
  /** By `performance.now()`. */
  readonly madeAt: number;
  readonly queue: PipelineQueue;
  /** Absent when the server gave no key: then only closing the socket ends a query. */
  readonly cancelTarget?: CancelTarget;
  readonly facts: SessionFacts;
  /**
   * Leaves it with its query running, and reads no more. The server closes it after the query, or soon if it is
   * `checksClient`.
   */
  orphan(): void;
}

export interface SessionFacts {
  /** What the account has by default; each call pins it. */
  readonly searchPath: string;
  readonly version: number;
  /** Such as `PostgreSQL 15.18 on x86_64-pc-linux-gnu`. */
  readonly told: string;
  readonly utf8: boolean;
  /** Whether the account may call `RELEASE_LOCKS`, which may be revoked from everybody. */
  readonly unlocks: boolean;
  /** Whether the server ends a query by itself once its client is gone. */
  readonly checksClient: boolean;
  /** Whether what is the same for every transaction was set for the session, which no pooler gives to other clients. */
  readonly keepsSettings: boolean;
  /** Which process serves the session; absent if that may change, as behind a pooler. */
  readonly backend?: Backend;
}

/** A process id names a process for good only with its start, since ids are used again. */
interface Backend {
  readonly processId: string;
  readonly startedAt: string;
}

/** SQL over `a`, a row of pg_stat_activity: one text whatever the session's settings. */
export const BACKEND_STARTED = "pg_catalog.to_char(a.backend_start at time zone 'UTC', 'YYYYMMDDHH24MISSUS')";

const CONNECT_TIMEOUT_MS = 10_000;
const KEEPALIVE_MS = 30_000;
const CLOSE_TIMEOUT_MS = 1000;

/** Throws `DatabaseError` of kind `unavailable`, after 10 s or soon after the abort at the latest. */
export async function openSession(config: PostgresConfig, signal: AbortSignalLike): Promise<DatabaseSession> {
  const encrypted = tlsOptions(config);
  try {
    return await attempt(config, encrypted, signal);
  } catch (error) {
    if (config.sslmode !== 'prefer' || encrypted === false || !isWithoutTls(error))
      throw unavailable(error, config);
  }
  try {
    return await attempt(config, false, signal);
  } catch (error) {
    throw unavailable(error, config);
  }
}

/** What `tls.connect` gets for each sslmode; as with libpq a Unix socket is never encrypted. */
function tlsOptions(config: PostgresConfig): tls.ConnectionOptions | false {
  if (config.host.startsWith('/')) return false;
  const ca = config.sslRootCert === undefined ? {} : { ca: config.sslRootCert };
  switch (config.sslmode) {
    case 'disable':
      return false;
    case 'prefer':
      return { rejectUnauthorized: false };
    case 'require':
      // libpq's rule: with a root certificate `require` checks the chain, but not the host name.
      return config.sslRootCert === undefined
        ? { rejectUnauthorized: false }
        : { ...ca, rejectUnauthorized: true, checkServerIdentity: () => undefined };
    case 'verify-full':
      return { ...ca, rejectUnauthorized: true };
  }
}

async function attempt(
  config: PostgresConfig,
  ssl: tls.ConnectionOptions | false,
  signal: AbortSignalLike,
): Promise<DatabaseSession> {
  const client = newClient(config, ssl);
  const reader = checkMessages(client);
  // Without a listener a connection that is lost before a pool has it would end the process.
  client.on('error', () => {});
  let key: { readonly processId: number; readonly secret: number } | undefined;
  client.connection.on('backendKeyData', (message: { processID: number; secretKey: number }) => {
    key = { processId: message.processID, secret: message.secretKey };
  });
  const giveUp = (why: string): void => void client.connection.stream.destroy(new Error(why));
  const timer = setTimeout(
    () => giveUp(`no answer within ${CONNECT_TIMEOUT_MS / 1000} s`),
    CONNECT_TIMEOUT_MS,
  );
  const onAbort = (): void => giveUp('given up');
  signal.addEventListener('abort', onAbort);
  try {
    if (signal.aborted) throw new Error('given up');
    await client.connect();
    const address = addressOf(client, config);
    const cancelTarget =
      key === undefined || address === undefined
        ? {}
        : { cancelTarget: { ...key, address, ssl, host: config.host } };
    const connection = pipelinedConnection(client, reader);
    const facts = await readFacts(connection, key?.processId);
    const queue = new PipelineQueue(await measureRoundTrip(connection));
    return { ...connection, ...endsOf(client), madeAt: performance.now(), queue, facts, ...cancelTarget };
  } catch (error) {
    client.connection.stream.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

function endsOf(client: pg.Client): Pick<DatabaseSession, 'onEnd' | 'destroy' | 'close' | 'orphan'> {
  const { stream } = client.connection;
  return {
    onEnd(ended) {
      // The end comes some time after the error that announces it: a call that got the session meanwhile would fail.
      client.once('error', () => {
        ended();
        stream.destroy();
      });
      client.once('end', ended);
    },
    destroy: () => void stream.destroy(),
    close(timeoutMs = CLOSE_TIMEOUT_MS) {
      const timer = setTimeout(() => stream.destroy(), timeoutMs);
      client.once('end', () => clearTimeout(timer));
      void client.end();
    },
    orphan() {
      stream.removeAllListeners('data');
      stream.resume();
      stream.end();
    },
  };
}

function newClient(config: PostgresConfig, ssl: tls.ConnectionOptions | false): pg.Client {
  const client = new pg.Client({
    host: config.host,
    port: config.port,
    database: config.name,
    user: config.user,
    // A function, since node-postgres replaces an empty password by PGPASSWORD or ~/.pgpass.
    password: () => config.password,
    ssl,
    sslnegotiation: 'postgres',
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_MS,
    pipeline: true,
  });
  // PGOPTIONS, PGREPLICATION and the like would end up here, and a pooler refuses most of them.
  const startup = { user: config.user, database: config.name, application_name: 'svc-agent' };
  return Object.assign(client, { getStartupConf: () => startup });
}

/**
 * Checks what the server sends before the library reads it. An error ends the connection: uncaught in a listener of the
 * socket, it would end the agent.
 */
function checkMessages({ connection }: pg.Client): MessageReader {
  let parse = (_messages: Buffer): void => {};
  const reader = new MessageReader((messages) => parse(messages));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const library = connection as unknown as { attachListeners(stream: net.Socket): void };
  const attach = library.attachListeners.bind(connection);
  library.attachListeners = (stream) => {
    attach(stream);
    const [listener] = stream.listeners('data');
    parse = (messages) => void listener?.call(stream, messages);
    stream.removeAllListeners('data');
    stream.on('data', (chunk) => {
      try {
        reader.read(chunk);
      } catch (error) {
        stream.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    });
  };
  return reader;
}

/** The server that was reached: a host name may stand for several, and a cancel request must find the same. */
function addressOf(client: pg.Client, config: PostgresConfig): net.NetConnectOpts | undefined {
  if (config.host.startsWith('/')) return { path: `${config.host}/.s.PGSQL.${config.port}` };
  const { stream } = client.connection;
  if (!(stream instanceof net.Socket)) return undefined;
  const { remoteAddress, remotePort } = stream;
  return remoteAddress === undefined || remotePort === undefined
    ? undefined
    : { host: remoteAddress, port: remotePort };
}

/** How many milliseconds the shortest statement takes. */
async function measureRoundTrip(connection: PipelinedConnection): Promise<number> {
  const asked = performance.now();
  const [unit] = await sendAll(connection, [[{ text: 'select' }]]);
  if (unit?.error !== undefined) throw unit.error;
  return performance.now() - asked;
}

const FACTS =
  "select pg_catalog.current_setting('search_path'), pg_catalog.current_setting('server_version_num'), " +
  "pg_catalog.current_setting('server_encoding'), pg_catalog.current_setting('standard_conforming_strings'), " +
  `pg_catalog.has_function_privilege('${RELEASE_LOCKS}', 'execute'), pg_catalog.version()`;
/** For a server that lacks what `FACTS` asks. */
const VERSION = 'select version()';

function refuseOther(told: string | null | undefined): void {
  const advice = whyOther(told ?? '');
  if (advice !== undefined)
    throw new DatabaseError('unavailable', `cannot use the server: ${advice}`, { advice });
}

const BACKEND = `select a.pid, ${BACKEND_STARTED} from pg_catalog.pg_stat_activity a where a.pid operator(pg_catalog.=) pg_catalog.pg_backend_pid()`;

async function readFacts(
  connection: PipelinedConnection,
  keyProcessId: number | undefined,
): Promise<SessionFacts> {
  // What need not succeed has a unit of its own, or its failure would skip what is needed.
  const [unit, watch, self, ...kept] = await sendAll(connection, [
    [{ text: FACTS }],
    [{ text: TRY_WATCH }],
    [{ text: BACKEND }],
    ...keepSettings(keyProcessId),
  ]);
  if (unit?.error !== undefined) {
    const [version] = await sendAll(connection, [[{ text: VERSION }]]);
    refuseOther(version?.results[0]?.rows[0]?.[0]);
    throw unit.error;
  }
  // The pool would never be told of the end of a connection that was lost meanwhile.
  for (const optional of [watch, self, ...kept]) {
    if (optional?.error !== undefined && kindOf(optional.error) === 'unavailable') throw optional.error;
  }
  const [searchPath, version, encoding, conforming, unlocks, told] = unit?.results[0]?.rows[0] ?? [];
  refuseOther(told);
  const facts = { version: Number(version ?? Number.NaN), standardConformingStrings: conforming ?? null };
  const advice = whyUnsupported(facts);
  if (advice !== undefined)
    throw new DatabaseError('unavailable', `cannot use the server: ${advice}`, { advice });
  const [processId, startedAt] = self?.results[0]?.rows[0] ?? [];
  // A pooler makes up the key, which then names no process of the server.
  const isDirect = typeof processId === 'string' && Number(processId) === keyProcessId;
  const known = {
    searchPath: searchPath ?? '',
    checksClient: watch?.error === undefined && watch?.results[0]?.rows.length === 1,
  };
  return {
    ...known,
    version: facts.version,
    told: told ?? '',
    utf8: encoding === 'UTF8',
    unlocks: unlocks === 't',
    keepsSettings: isDirect && isKept(kept.at(-1), known),
    ...(isDirect && typeof startedAt === 'string' ? { backend: { processId, startedAt } } : {}),
  };
}
