import { randomInt, randomUUID } from 'node:crypto';
import { createServer, connect, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { testDatabase, type TestDatabase } from '@svc/testkit';
import { freshMark, type Kind, type Mark } from './canary-marks.testing.ts';

/** Every secret of the service carries a mark of its own. */
export interface MarkedService {
  readonly marks: readonly Mark[];
  /** The `database` section; its host is a proxy that can be cut. */
  readonly connection: Readonly<Record<string, unknown>>;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly database: TestDatabase;
  /** A new mark that is looked for from now on. */
  mark(kind: Kind): string;
  /** A new mark of another form than `freshMark`'s. */
  note(kind: Kind, text: string): string;
  /** The database is gone for the agent, until `restore`. */
  cut(): void;
  restore(): void;
  stop(): Promise<void>;
}

export async function startMarkedService(): Promise<MarkedService> {
  const marks: Mark[] = [];
  const note = (kind: Kind, text: string): string => {
    marks.push({ kind, text });
    return text;
  };
  const mark = (kind: Kind): string => note(kind, freshMark(kind).text);

  const database = await testDatabase();
  const user = mark('connection');
  const password = mark('password');
  const names = { table: mark('sql'), column: mark('sql'), raise: mark('sql'), domain: mark('sql') };
  const rule = mark('sql');
  await database.execute(`
    create role ${user} login password '${password}';
    revoke temporary on database ${database.name} from public;
    create table ${names.table} (id int, shown text, ${names.column} text);
    insert into ${names.table} values (1, '${mark('answer')}', '${mark('row')}');
    create domain ${names.domain} as text constraint ${rule} check (value = 'x');
    create function ${names.raise}(given text) returns text stable language plpgsql as $$
      begin
        raise exception using message = '${mark('database_text')} ' || given, detail = '${mark('database_text')}',
          hint = '${mark('database_text')}', errcode = 'P0001';
      end $$;
    grant select on ${names.table} to ${user};
  `);
  note('connection', database.name);
  // A loopback address that nothing else names, where the system has more than one.
  const host =
    process.platform === 'linux' ? note('connection', `127.${octet()}.${octet()}.${octet()}`) : '127.0.0.1';
  const proxy = await startProxy(host, database);
  const { port } = proxy;
  return {
    marks,
    mark,
    note,
    database,
    connection: { driver: 'postgres', host, port, name: database.name, user, password, sslmode: 'disable' },
    capabilities: markedCapabilities(names, mark('sql')),
    cut: () => proxy.cut(),
    restore: () => proxy.restore(),
    stop: async () => {
      await proxy.close();
      await database.execute(`drop owned by ${user}; drop role ${user}`);
    },
  };
}

interface Names {
  readonly table: string;
  readonly column: string;
  readonly raise: string;
  readonly domain: string;
}

function markedCapabilities(names: Names, comment: string): Readonly<Record<string, unknown>> {
  const result = { answer: { type: 'string' } };
  const text = { text: { type: 'string', required: true } };
  const capability = (expression: string, params: object = text, policy: object = {}): object => ({
    sql: `select /* ${comment} */ (${expression})::text as answer, ${names.column} from ${names.table} where id = 1`,
    params,
    policy,
    result,
  });
  return {
    read: capability('shown', {}),
    take_all: capability(
      "concat_ws(' ', length(:text), cardinality(:list), :document is null, :mail, :id, :whole, :day, :choice, :coded) is null",
      {
        ...text,
        list: { type: 'array', items: { type: 'string', maxLength: 40 } },
        document: { type: 'object' },
        mail: { type: 'string', format: 'email', maxLength: 60 },
        id: { type: 'uuid' },
        whole: { type: 'integer' },
        day: { type: 'date' },
        choice: { type: 'string', enum: ['a', 'b'] },
        coded: { type: 'string', pattern: '^[0-9]*$' },
      },
    ),
    cast_parameter: capability(':text::int'),
    cast_column: capability(`${names.column}::int`, {}),
    raise: capability(`${names.raise}(:text)`),
    domain: capability(`:text::${names.domain}`),
    expression: capability("'x' ~ :text"),
    document: capability(':text::jsonb'),
    zone: capability('now() at time zone :text'),
    divide: capability('1 / (id - 1)', {}),
    overflow: capability(':whole::bigint::int', { whole: { type: 'integer', required: true } }),
    large: capability('repeat(:text, 100)', text, { max_bytes: 500 }),
    slow: capability('pg_sleep(length(:text))::text', text, {
      timeout: '100ms',
      allow_functions: ['pg_sleep'],
    }),
    sleep: capability('(pg_sleep(1)::text || :text) is null', text, {
      timeout: '9s',
      allow_functions: ['pg_sleep'],
    }),
  };
}

/** Marks that fit types which take no free text. */
export function typedMarks(): { readonly id: string; readonly whole: number } {
  return { id: randomUUID(), whole: randomInt(2 ** 46, 2 ** 47) * 64 };
}

function octet(): number {
  return randomInt(17, 250);
}

async function startProxy(
  host: string,
  target: { readonly host: string; readonly port: number },
): Promise<{ port: number; cut(): void; restore(): void; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  let refusing = false;
  const end = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const server: Server = createServer((client) => {
    if (refusing) {
      client.destroy();
      return;
    }
    const upstream = connect(target);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('cannot start the proxy: no port');
  return {
    port: address.port,
    cut: () => {
      refusing = true;
      end();
    },
    restore: () => {
      refusing = false;
    },
    close: async () => {
      server.close();
      end();
      await once(server, 'close');
    },
  };
}
