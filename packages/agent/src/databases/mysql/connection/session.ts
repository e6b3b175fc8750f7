import { connect, isIP, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type {
  Connection,
  ConnectionOptions,
  PrepareStatementInfo,
  RowDataPacket,
  TypeCastField,
  TypeCastNext,
  TypedParameter,
} from 'mysql2';
import type { AbortSignalLike } from '@svc/edge';
import { DatabaseError } from '../../driver/errors.ts';
import type { PooledSession } from '../../sessions/pool-base.ts';
import type { MysqlConfig } from '../config/config.ts';
import { checkColumns, checkPackets, type CheckedPackets } from './check-packets.ts';
import type { PacketLengths } from './packet-lengths.ts';
import { PreparedStatements } from './prepared-statements.ts';

interface ServerFacts {
  readonly version: string;
  readonly sortedBytes: number;
}

/** Makes values of the types of the protocol. */
export type BoundTypes = Pick<TypedParameter, 'BIGINT' | 'DECIMAL' | 'DOUBLE' | 'TINYINT' | 'VARCHAR'>;

const CONNECT_MS = 10_000;
/** Planning a statement or reading a large catalog may take the server a while. */
const ANSWER_MS = 30_000;
/** The longest wait for a graceful end. */
const CLOSE_MS = 1000;

/**
 * What is assumed of every session, whatever the server's own settings. ANSI_QUOTES, NO_BACKSLASH_ESCAPES, PIPES_AS_CONCAT
 * and IGNORE_SPACE would change what the verified text means; without the strict modes values would be cut silently.
 */
const SETTINGS = [
  "sql_mode = 'STRICT_TRANS_TABLES,STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO'",
  "time_zone = '+00:00'",
  'autocommit = 1',
  'sql_select_limit = default',
  'group_concat_max_len = 16777216',
  // Without it a plain SELECT, whose LIMIT stands around it, would be run to its end.
  "optimizer_switch = 'derived_merge=on'",
  // Names in what the server tells of grants.
  'sql_quote_show_create = 1',
];

/** MariaDB gives what it has when the limit is reached, with a mere warning; MySQL fails. Here the time limit ends it. */
const RECURSION = 'max_recursive_iterations = 4294967295';

/** Types whose text the library reads digit by digit, as far as the length that the server announces. */
const SHORT_INTEGERS = new Set(['TINY', 'SHORT', 'LONG', 'INT24', 'YEAR']);

/** How rows come of what we ask for ourselves. */
const NAMED = { rowsAsArray: false };
const NAMED_TEXT = {
  ...NAMED,
  typeCast: (field: TypeCastField, next: TypeCastNext): unknown => {
    if (!SHORT_INTEGERS.has(field.type)) return next();
    const text = field.string();
    return text === null ? null : Number(text);
  },
};

/** One connection. Its settings are pinned, and nothing is sent on it that is not prepared or a constant of ours. */
export class MysqlSession implements PooledSession {
  readonly connection: Connection;
  /** To be told before each question how long its answer may be. */
  readonly packets: PacketLengths;
  /** How many warnings the server has counted for the last result. */
  readonly warnings: () => number;
  readonly statements: PreparedStatements;
  readonly isMariaDb: boolean;
  /** As the server tells it, such as `11.4.5-MariaDB`. */
  readonly version: string;
  /** Of a value it sorts by so many bytes: its `max_sort_length`. */
  readonly sortedBytes: number;
  readonly madeAt: number = performance.now();
  /** The library's, which is loaded with the first connection. */
  readonly types: BoundTypes;
  #limitMs: number | undefined;

  constructor(
    connection: Connection,
    { lengths, warnings }: CheckedPackets,
    types: BoundTypes,
    { version, sortedBytes }: ServerFacts,
  ) {
    this.packets = lengths;
    this.warnings = warnings;
    this.types = types;
    this.version = version;
    this.sortedBytes = sortedBytes;
    this.connection = connection;
    this.statements = new PreparedStatements(connection);
    this.isMariaDb = /MariaDB/i.test(version);
  }

  get threadId(): number {
    return this.connection.threadId ?? 0;
  }

  /** Runs a statement of our own, without values. */
  async ask(sql: string): Promise<readonly RowDataPacket[]> {
    const question = { ...NAMED_TEXT, sql };
    const rows = await this.#answer<RowDataPacket[]>((done) =>
      this.connection.query(question, done).on('fields', checkColumns),
    );
    return Array.isArray(rows) ? rows : [];
  }

  /** Runs a statement of our own. */
  askWith(sql: string, values: readonly (string | null)[]): Promise<readonly RowDataPacket[]> {
    const question = { ...NAMED, sql, values: [...values] };
    return this.#answer<RowDataPacket[]>((done) =>
      this.connection.execute(question, done).on('fields', checkColumns),
    );
  }

  prepare(sql: string): Promise<PrepareStatementInfo> {
    return this.#answer<PrepareStatementInfo>((done) => this.connection.prepare(sql, done));
  }

  /** A server that is stopped, or behind a network that has fallen silent, tells nothing: without a limit it is waited for for ever. */
  #answer<Answer>(
    ask: (done: (error: NodeJS.ErrnoException | null, answer: Answer) => void) => void,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const over = (): void => {
        clearTimeout(timer);
        this.connection.removeListener('error', fail);
      };
      const fail = (error: Error): void => {
        over();
        reject(error);
      };
      const timer = setTimeout(() => {
        fail(new DatabaseError('unavailable', `the server has not answered within ${ANSWER_MS} ms`));
      }, ANSWER_MS);
      // When a connection fails, the library does not tell each question that waits for an answer.
      this.connection.once('error', fail);
      this.packets.expectOwn();
      ask((error, answer) => {
        if (error !== null) return fail(error);
        over();
        resolve(answer);
      });
    });
  }

  /**
   * Has the server end a statement by itself if nothing else ends it. Setting it costs a round trip, so a limit that is set
   * already stays unless it would end the statement too early or much too late.
   */
  async limitTime(leftMs: number): Promise<void> {
    const limit = this.#limitMs;
    if (limit !== undefined && limit >= leftMs && limit <= leftMs * 1.25) return;
    const wanted = Math.ceil(Math.min(leftMs * 1.1, 2_147_483_647));
    await this.ask(
      this.isMariaDb
        ? `set session max_statement_time = ${wanted / 1000}`
        : `set session max_execution_time = ${wanted}`,
    );
    this.#limitMs = wanted;
  }

  /** Undoes whatever a function may have left behind: locks, variables, settings. */
  async reset(): Promise<void> {
    await this.#answer<void>((done) => this.connection.reset((error) => done(error, undefined)));
    this.statements.forget();
    this.#limitMs = undefined;
    await this.pin();
  }

  async pin(): Promise<void> {
    await this.ask('set names utf8mb4');
    const own = this.isMariaDb ? [RECURSION] : [];
    await this.ask(`set session ${[...SETTINGS, ...own].join(', ')}`);
    await this.ask('set session transaction read only');
  }

  onEnd(ended: () => void): void {
    let isOver = false;
    const once = (): void => {
      if (isOver) return;
      isOver = true;
      ended();
    };
    // An idle connection reports its end only by an event.
    this.connection.on('error', once);
    this.connection.on('end', once);
  }

  destroy(): void {
    endAtOnce(this.connection);
  }

  close(): void {
    const timer = setTimeout(() => endAtOnce(this.connection), CLOSE_MS);
    streamOf(this.connection)?.once('close', () => clearTimeout(timer));
    this.connection.end();
  }
}

export async function openSession(config: MysqlConfig, signal: AbortSignalLike): Promise<MysqlSession> {
  if (config.sslmode !== 'prefer') return open(config, signal, config.sslmode !== 'disable');
  try {
    return await open(config, signal, true);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'HANDSHAKE_NO_SSL_SUPPORT'))
      throw error;
    return open(config, signal, false);
  }
}

async function open(
  config: MysqlConfig,
  signal: AbortSignalLike,
  isEncrypted: boolean,
): Promise<MysqlSession> {
  // Agents without such a database never load the library.
  const { createConnection, TypedParameter } = await import('mysql2');
  const connection = createConnection(optionsOf(config, isEncrypted));
  const packets = checkPackets(connection);
  // The library would go on reading after the server has broken the protocol.
  connection.on('error', () => endAtOnce(connection));
  let giveUp = (): void => {};
  let timer: NodeJS.Timeout | undefined;
  const failed = new Promise<never>((_resolve, reject) => {
    giveUp = () => reject(new DatabaseError('cancelled', 'given up while connecting'));
    signal.addEventListener('abort', giveUp);
    // The library's own limit ends with the handshake, but the network may fall silent after that.
    const late = Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT' });
    timer = setTimeout(() => reject(late), CONNECT_MS);
    // Without this listener an error would end the process.
    connection.on('error', reject);
    connection.on('end', () => reject(new DatabaseError('unavailable', 'the connection was closed')));
  });
  try {
    return await Promise.race([failed, greet(connection, packets, TypedParameter, config.driver)]);
  } catch (error) {
    endAtOnce(connection);
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
  }
}

/** The library only sends a goodbye. On a silent network the socket would stay open. */
function endAtOnce(connection: Connection): void {
  connection.destroy();
  streamOf(connection)?.destroy();
}

function streamOf(connection: Connection): Duplex | undefined {
  const stream: unknown = Reflect.get(connection, 'stream');
  return stream instanceof Duplex ? stream : undefined;
}

async function greet(
  connection: Connection,
  packets: CheckedPackets,
  types: BoundTypes,
  driver: string,
): Promise<MysqlSession> {
  await new Promise<void>((resolve, reject) => {
    connection.connect((error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
  const [facts] = await askVersion(connection);
  const version = String(facts?.['version']);
  checkServer(driver, version);
  const sortedBytes = Number(facts?.['sorted_bytes']);
  const session = new MysqlSession(connection, packets, types, { version, sortedBytes });
  await session.pin();
  return session;
}

/** Older servers lack a time limit, a read-only transaction or a function that calls need. */
const OLDEST: Readonly<Record<string, readonly [number, number, number]>> = {
  mariadb: [10, 6, 0],
  mysql: [8, 0, 22],
};

function isOlder(version: string, oldest: readonly number[] = []): boolean {
  const parts = /(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number) ?? [];
  const at = oldest.findIndex((part, index) => part !== parts[index]);
  return at >= 0 && (parts[at] ?? 0) < (oldest[at] ?? 0);
}

function askVersion(connection: Connection): Promise<readonly RowDataPacket[]> {
  const question = { ...NAMED_TEXT, sql: 'select version() as version, @@max_sort_length as sorted_bytes' };
  return new Promise((resolve, reject) => {
    const command = connection.query<RowDataPacket[]>(question, (error, rows) => {
      if (error === null) resolve(rows);
      else reject(error);
    });
    command.on('fields', checkColumns);
  });
}

/** Throws `DatabaseError` for a server of another kind than `driver`, or too old a one. */
function checkServer(driver: string, version: string): void {
  const actual = /MariaDB/i.test(version)
    ? 'mariadb'
    : /TiDB|Vitess|SingleStore/i.test(version)
      ? 'another'
      : 'mysql';
  if (actual === driver && !isOlder(version, OLDEST[driver])) return;
  const advice =
    actual === driver
      ? `it is too old: ${driver} from ${OLDEST[driver]?.join('.')} on is supported`
      : actual === 'another'
        ? 'it speaks the protocol of MySQL, but is none: it is not supported'
        : `this server is ${actual === 'mariadb' ? 'MariaDB' : 'MySQL'}; set driver: ${actual}`;
  throw new DatabaseError('unavailable', `the server is ${version}`, { advice });
}

function optionsOf(config: MysqlConfig, isEncrypted: boolean): ConnectionOptions {
  const { host, port, user, password, name, sslRootCert } = config;
  const isVerified = config.sslmode === 'verify-full';
  return {
    ...(isEncrypted && isVerified && isIP(host) > 0 ? addressOf(host, port) : placeOf(host, port)),
    user,
    password,
    database: name,
    charset: 'UTF8MB4_GENERAL_CI',
    connectTimeout: CONNECT_MS,
    // CVE-2024-21508: the library would generate code from what a server says about its columns.
    disableEval: true,
    multipleStatements: false,
    // A server may ask for a file of the agent, or for the password in clear text.
    flags: ['-LOCAL_FILES'],
    infileStreamFactory: refuseFile,
    enableCleartextPlugin: false,
    rowsAsArray: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    jsonStrings: true,
    dateStrings: true,
    ...(isEncrypted
      ? {
          ssl: {
            // As in libpq, a named authority is checked even if the host name is not.
            rejectUnauthorized: isVerified || (config.sslmode === 'require' && sslRootCert !== undefined),
            // The library's default is off.
            verifyIdentity: isVerified,
            ...(sslRootCert === undefined ? {} : { ca: sslRootCert }),
          },
        }
      : {}),
  };
}

function placeOf(host: string, port: number): ConnectionOptions {
  return host.startsWith('/') ? { socketPath: host } : { host, port };
}

/**
 * For an address the library would accept any certificate for `localhost`. Written as a name, with a dot at its end,
 * the address has to be in the certificate.
 */
function addressOf(host: string, port: number): ConnectionOptions {
  const stream = (): Socket => connect({ host, port, keepAlive: true, noDelay: true });
  return { host: `${host}.`, port, stream };
}

function refuseFile(): never {
  throw new DatabaseError('failed', 'the server asked for a file of this machine');
}
