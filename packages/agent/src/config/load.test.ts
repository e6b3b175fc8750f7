import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from './load.ts';
import { faultLines, fileText, load, testKey } from './load.fixture.ts';

const seed = new Uint8Array(Buffer.from(testKey.seed, 'base64url'));

const SECTIONS =
  'service, runtime, gateway, database, databases, identity, logging, metrics, telemetry, defaults, capabilities';

describe('telemetry', { tags: ['file:telemetry.traces', 'file:telemetry.headers_file'] }, () => {
  const file = (telemetry: string): string => fileText({ telemetry: `telemetry: { ${telemetry} }` });
  const GRPC = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_TRACES_SAMPLER_ARG: '2' };

  test('variables of OpenTelemetry count once traces are on', () => {
    expect(load(fileText(), GRPC)).not.toHaveProperty('faults');
    expect(load(fileText(), GRPC)).not.toHaveProperty('config.traces');
    expect(faultLines(load(file('traces: otlp'), GRPC))).toEqual([
      '5:22 telemetry.traces: OTEL_EXPORTER_OTLP_PROTOCOL is not accepted; accepted: http/protobuf, http/json; ' +
        'OTEL_TRACES_SAMPLER_ARG is not accepted; accepted: a number from 0 to 1, such as 0.1',
    ]);
    expect(load(file('traces: otlp'), { OTEL_SERVICE_NAME: 'ours' })).toMatchObject({
      config: { traces: { resource: { 'service.name': 'ours' } } },
    });
  });

  test('headers come from a file, relative to this one', () => {
    const on = file('traces: otlp, headers_file: headers');
    const loaded = load(on, {}, { '/etc/svc/headers': 'Authorization: Bearer hidden\n' });
    expect(loaded).toMatchObject({ config: { traces: { headers: { authorization: 'Bearer hidden' } } } });
    const faults = [
      ...faultLines(load(on)),
      ...faultLines(load(on, {}, { '/etc/svc/headers': 'hidden' })),
      ...faultLines(load(file('headers_file: headers'), {}, { '/etc/svc/headers': '' })),
    ];
    expect(faults).toEqual(
      Array(3).fill(expect.stringMatching(/^5:\d+ telemetry\.headers_file: (?!.*hidden)/)),
    );
  });

  test('there is one way to send them', () => {
    expect(faultLines(load(file('traces: zipkin')))).toEqual([expect.stringContaining('otlp')]);
  });
});

describe('types under the names that SQL has for them', () => {
  test.each([
    ['text', 'string'],
    ['varchar', 'string'],
    ['TIMESTAMP', 'datetime'],
    ['timestamptz', 'datetime'],
    ['int', 'integer'],
    ['bigint', 'integer'],
    ['float', 'number'],
    ['numeric', 'number'],
    ['decimal', 'number'],
    ['bool', 'boolean'],
    ['json', 'object'],
    ['jsonb', 'object'],
  ])('%s is meant as %s', (name, meant) => {
    const capability = `{ sql: select :p as a, params: { p: { type: ${name} }, q: ${name} }, result: { a: ${name} } }`;
    const lines = faultLines(load(fileText({ capabilities: `capabilities: { find: ${capability} }` })));
    expect(lines).toHaveLength(3);
    expect(lines[0]).toContain(`; did you mean \`${meant}\`?`);
    expect(lines[1]).toMatch(`params.q: must be a mapping, as in q: { type: ${meant} }`);
    expect(lines[2]).toMatch(`result.a: must be a mapping, as in a: { type: ${meant} }`);
  });

  test('a word that is no type is not repeated', () => {
    const capability = '{ sql: select 1 as a, result: { a: secret-word } }';
    expect(faultLines(load(fileText({ capabilities: `capabilities: { find: ${capability} }` })))).toEqual([
      expect.stringMatching(/result\.a: must be a mapping, as in a: \{ type: string \}$/),
    ]);
  });
});

describe('the calls that an agent takes, running and waiting,', { tags: ['file:runtime.queue_size'] }, () => {
  const TOO_MANY = '`queue_size` and `max_concurrent_requests` (default 64) must be <= 1000000 together';

  test.each([
    ['runtime: { queue_size: 999936 }', []],
    ['runtime: { max_concurrent_requests: 100000, queue_size: 900000 }', []],
    ['runtime: { queue_size: 999937 }', [`5:24 runtime.queue_size: ${TOO_MANY}`]],
    [
      'runtime: { queue_size: 900001, max_concurrent_requests: 100000 }',
      [`5:24 runtime.queue_size: ${TOO_MANY}`],
    ],
    [
      'runtime: { queue_size: 999999, max_concurrent_requests: 100001 }',
      ['5:57 runtime.max_concurrent_requests: must be <= 100000'],
    ],
    [
      'runtime: { queue_size: many, max_concurrent_requests: 100000 }',
      ['5:24 runtime.queue_size: must be an integer'],
    ],
  ])('are not more than the gateway bears: %s', (runtime, faults) => {
    expect(faultLines(load(fileText({ runtime })))).toEqual(faults);
  });
});

describe('each worker needs a connection,', { tags: ['file:runtime.workers'] }, () => {
  const database = (rest: string): string =>
    `database: { host: db, name: library, user: reader, password: pw${rest} }`;

  test.each([
    ['runtime: { workers: 10 }', '', []],
    [
      'runtime: { workers: 11 }',
      '',
      [
        '5:21 runtime.workers: must be <= `database.max_connections` (10), because each worker needs a connection',
      ],
    ],
    ['runtime: { workers: 64 }', ', max_connections: 64', []],
    ['runtime: { workers: 65 }', ', max_connections: 65', ['5:21 runtime.workers: must be <= 64']],
    [
      'runtime: { workers: 3 }',
      ', max_connections: 2',
      [
        '5:21 runtime.workers: must be <= `database.max_connections` (2), because each worker needs a connection',
      ],
    ],
    [
      'runtime: { workers: 3 }',
      ', max_connections: x',
      ['3:83 database.max_connections: must be an integer'],
    ],
  ])('%s with%s', (runtime, connections, faults) => {
    expect(faultLines(load(fileText({ database: database(connections), runtime })))).toEqual(faults);
  });
});

describe('a file without faults', () => {
  test('gets the defaults', () => {
    expect(load(fileText())).toEqual({
      warnings: [
        {
          path: 'capabilities.ping.description',
          message: 'is missing: callers and models choose by it',
          position: { line: 4, column: 17 },
        },
      ],
      config: {
        service: { title: 'Library', version: '1', description: '' },
        runtime: { maxConcurrentRequests: 64, queueSize: 1000, workers: 1, requireAllDatabases: false },
        gateway: {
          urls: ['wss://gw.example.com/ws/agent'],
          maxLinks: 64,
          resolveIntervalMs: 10_000,
          privateKeySeed: seed,
        },
        databases: {
          '': {
            driver: 'postgres',
            host: 'db',
            port: 5432,
            name: 'library',
            user: 'reader',
            password: 'pw',
            sslmode: 'prefer',
            maxConnections: 10,
            requireReadonlyAccount: false,
            transactions: 'shared',
          },
        },
        logging: { output: 'file', maxSizeBytes: 10 * 1024 * 1024, maxFiles: 5 },
        capabilities: [
          {
            name: 'ping',
            description: '',
            sql: 'SELECT 1 AS one',
            params: [],
            result: [{ name: 'one', type: 'integer', nullable: true, position: { line: 4, column: 57 } }],
            limits: { timeoutMs: 30_000, maxRows: 1000, maxBytes: 1024 * 1024, onLimit: 'truncate' },
            allowFunctions: [],
            allowForeignTables: [],
            exposeInOpenapi: true,
            position: { line: 4, column: 17 },
            sqlPosition: { line: 4, column: 25 },
          },
        ],
      },
    });
  });

  test('has every setting taken over', () => {
    const loaded = load(`
service: { title: T, version: v, description: D }
runtime: { max_concurrent_requests: 3, queue_size: 0, workers: 2, require_all_databases: true }
gateway: { url: "ws://localhost:1/ws/agent", agent_private_key: ${testKey.seed} }
database: { driver: postgres, host: h, port: 1, name: n, user: u, password: "", sslmode: verify-full,
            max_connections: 2, require_readonly_account: true }
logging: { output: stdout, max_size: 2MB, max_files: 7 }
metrics: { addr: "[::1]:9090" }
defaults: { readonly: true, timeout: 5s, max_rows: 7, max_bytes: 2KB }
capabilities:
  b:
    description: Second letter.
    sql: SELECT :x, :y
    params:
      y: { type: array, items: { type: string, maxLength: 2 }, default: [a] }
      x: { type: integer, required: true, minimum: 1, description: An x. }
    policy: { timeout: 1m30s, max_rows: 1, max_bytes: 64MB, on_limit: error, allow_functions: [My.Fn], allow_foreign_tables: [my.Table] }
    expose_in_openapi: false
    result:
      z: { type: string, format: email, nullable: false, description: A z. }
      a: { type: date }
  a: { sql: SELECT 1, result: { one: { type: integer } } }
`);
    if ('faults' in loaded) expect.unreachable(faultLines(loaded).join('\n'));
    const { runtime, databases, logging, capabilities } = loaded.config;
    expect(runtime).toEqual({
      maxConcurrentRequests: 3,
      queueSize: 0,
      workers: 2,
      requireAllDatabases: true,
    });
    expect(databases['']).toMatchObject({
      sslmode: 'verify-full',
      maxConnections: 2,
      requireReadonlyAccount: true,
      requireReadonlyAccountPosition: { line: 6, column: 33 },
    });
    expect(logging).toEqual({ output: 'stdout', maxSizeBytes: 2 * 1024 * 1024, maxFiles: 7 });
    const [b, a] = capabilities;
    expect(b).toMatchObject({
      name: 'b',
      description: 'Second letter.',
      params: [
        {
          name: 'y',
          required: false,
          schema: { type: 'array', items: { type: 'string', maxLength: 2 }, default: ['a'] },
        },
        { name: 'x', required: true, description: 'An x.', schema: { type: 'integer', minimum: 1 } },
      ],
      result: [
        { name: 'z', type: 'string', format: 'email', nullable: false, description: 'A z.' },
        { name: 'a', type: 'date', nullable: true },
      ],
      limits: { timeoutMs: 90_000, maxRows: 1, maxBytes: 64 * 1024 * 1024, onLimit: 'error' },
      allowFunctions: ['my.fn'],
      allowForeignTables: ['my.Table'],
      exposeInOpenapi: false,
    });
    expect(a?.limits).toEqual({ timeoutMs: 5000, maxRows: 7, maxBytes: 2048, onLimit: 'truncate' });
  });

  test('takes text, numbers and booleans from the environment', () => {
    const database =
      'database: { host: "${H}.local", port: "${PORT}", name: n, user: u, password: "${PW}", require_readonly_account: "${RO}" }';
    const loaded = load(fileText({ database }), { H: 'db', PORT: '6543', PW: '12345', RO: 'true' });
    expect(loaded).toMatchObject({
      config: {
        databases: { '': { host: 'db.local', port: 6543, password: '12345', requireReadonlyAccount: true } },
      },
    });
  });

  test('reads secrets from files beside it, without their last line break', () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-config-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'capability.yaml');
    writeFileSync(join(folder, 'key'), `${testKey.seed}\n`);
    writeFileSync(join(folder, 'pw'), 'two lines\n\r\n');
    const gateway = 'gateway: { url: "wss://g/ws/agent", agent_private_key_file: key }';
    const database = `database: { host: h, name: n, user: u, password_file: ${join(folder, 'pw')} }`;
    writeFileSync(path, fileText({ gateway, database }));
    expect(loadConfig({ path, env: {}, readFile: (name) => readFileSync(name) })).toMatchObject({
      config: { gateway: { privateKeySeed: seed }, databases: { '': { password: 'two lines\n' } } },
    });
  });
});

describe('faults', () => {
  test('come all at once, in the order of the file', () => {
    const text = `service: { title: "", version: 1.0 }
gateway:
  url: ws://example.com/ws/agent
database:
  prot: 5432
  host: h
  name: n
  user: u
  password: p
  password_file: f
defaults:
  readonly: false
  timeout: 30
capabilities:
  Find: { sql: SELECT 1, result: { a: { type: integr } } }
  find:
    params: { id: { type: int } }
    result: {}
`;
    expect(faultLines(load(text))).toEqual([
      '1:19 service.title: must not be empty',
      '1:32 service.version: must be text: put it in quotes',
      '2:1 gateway.agent_private_key: is required; or give `agent_private_key_file`',
      '3:8 gateway.url: must begin with `wss://`: `ws://` is for loopback hosts only',
      '5:3 database.prot: unknown key, did you mean `port`?',
      '10:3 database.password_file: `password` and `password_file` are both given: remove one of them',
      '12:13 defaults.readonly: must be true: the service only reads, so remove the key or write `true`',
      '13:12 defaults.timeout: must be a duration such as `500ms`, `30s`, `2m` or `1m30s`',
      '15:3 capabilities.Find: this is no capability name: use 1 to 48 lower-case letters, digits and `_`, beginning with a letter',
      '15:47 capabilities.Find.result.a.type: must be one of integer, number, string, boolean, date, datetime, array, object; did you mean `integer`?',
      '16:3 capabilities.find.sql: is required',
      '17:27 capabilities.find.params.id.type: must be one of integer, number, string, boolean, date, datetime, uuid, array, object; did you mean `integer`?',
      '18:5 capabilities.find.result: must have at least 1 entry',
    ]);
  });

  test.each([
    ['service: x', 'service: must be a mapping'],
    ['service:', 'service: is empty: give it a value or remove the key'],
    ['runtime: { max_concurrent_requests: 0 }', 'runtime.max_concurrent_requests: must be >= 1'],
    ['runtime: { max_concurrent_requests: 1.5 }', 'runtime.max_concurrent_requests: must be an integer'],
    ['runtime: { queue_size: 12345678901234567890 }', 'runtime.queue_size: must be <= 1000000'],
    ['runtime: { queue_size: "5" }', 'runtime.queue_size: must be an integer: remove the quotes'],
    ['logging: { output: journal }', 'logging.output: must be one of file, stdout'],
    ['logging: { max_size: 10XB }', 'logging.max_size: must be a size such as `512KB`, `10MB` or `1GB`'],
    ['logging: { max_size: 0 }', 'logging.max_size: must be at least 1KB'],
    ['logging: { max_files: 0 }', 'logging.max_files: must be >= 1'],
    ['defaults: { timeout: 0s }', 'defaults.timeout: must be between 1ms and 24h'],
    ['defaults: { timeout: 25h }', 'defaults.timeout: must be between 1ms and 24h'],
    ['defaults: { max_bytes: 1 }', 'defaults.max_bytes: must be 2B to 64MB'],
    ['defaults: { max_bytes: 65MB }', 'defaults.max_bytes: must be 2B to 64MB'],
    ['defaults: { max_rows: 0 }', 'defaults.max_rows: must be >= 1'],
    [
      'metrics: { addr: "9090" }',
      'metrics.addr: must be `:<port>` or `<host>:<port>`, such as `127.0.0.1:9090`',
    ],
    [
      'metrics: { addr: ":65536" }',
      'metrics.addr: must be `:<port>` or `<host>:<port>`, such as `127.0.0.1:9090`',
    ],
    ['extra: 1', `extra: unknown key; accepted: ${SECTIONS}`],
    ['"a b\\n": 1', `"a b\\n": unknown key; accepted: ${SECTIONS}`],
  ])('%s', (section, fault) => {
    const name = section.split(':')[0] ?? '';
    const lines = faultLines(load(fileText({ [name]: section })));
    expect(lines.map((line) => line.replace(/^\S+ /, ''))).toContain(fault);
  });

  test.each([
    ['policy: { max_bytes: 65MB }', 'policy.max_bytes: must be 2B to 64MB'],
    ['policy: { timeout: 0ms }', 'policy.timeout: must be between 1ms and 24h'],
    ['policy: { on_limit: cut }', 'policy.on_limit: must be one of truncate, error'],
    ['policy: { max_row: 5 }', 'policy.max_row: unknown key, did you mean `max_rows`?'],
    [
      'policy: { allow_functions: [a b] }',
      'policy.allow_functions.0: must be the name of a function, such as `my_schema.my_function`',
    ],
    ['policy: { allow_functions: [a, a] }', 'policy.allow_functions: must not list anything twice'],
    [
      'result: { 1: { type: string } }',
      'result.1: this is no field name: use 1 to 63 characters, not digits alone',
    ],
    ['result: { a: { type: date, format: date } }', 'result.a.format: does not fit the type date: remove it'],
    [
      'result: { a: { type: uuid } }',
      'result.a.type: must be one of integer, number, string, boolean, date, datetime, array, object; for a UUID write a: { type: string, format: uuid }',
    ],
    [
      'params: { Id: { type: string } }',
      'params.Id: this is no parameter name: use 1 to 63 lower-case letters, digits and `_`, not beginning with a digit',
    ],
    ['params: { __proto__: { type: string } }', 'params.__proto__: this name cannot be used'],
  ])('capability with %s', (entry, fault) => {
    const entries = {
      sql: 'sql: SELECT 1',
      result: 'result: { a: { type: string } }',
      [entry.split(':')[0] ?? '']: entry,
    };
    const capabilities = `capabilities: { c: { ${Object.values(entries).join(', ')} } }`;
    const lines = faultLines(load(fileText({ capabilities })));
    expect(lines.map((line) => line.replace(/^\S+ /, ''))).toEqual([`capabilities.c.${fault}`]);
  });

  test.each([
    ['password_file: nope', '`nope`: there is no such file'],
    ['password_file: "${DIR}/nope"', '`${DIR}/nope`: there is no such file'],
    ['password: p, ssl_root_cert: nope', '`nope`: there is no such file'],
  ])('%s names setting and file', (entry, reason) => {
    const lines = faultLines(
      load(fileText({ database: `database: { host: h, name: n, user: u, ${entry} }` }), { DIR: '/canary' }),
    );
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`cannot read ${reason}`);
  });

  test('a file of certificates must hold one', () => {
    const database = 'database: { host: h, name: n, user: u, password: p, ssl_root_cert: ca.pem }';
    const lines = faultLines(load(fileText({ database }), {}, { '/etc/svc/ca.pem': 'canary' }));
    expect(lines).toEqual(['3:68 database.ssl_root_cert: must name a file of PEM certificates']);
  });

  test('a missing variable is the only fault of its setting', () => {
    const database = 'database: { host: h, port: "${PORT}", name: n, user: u, password: p }';
    expect(faultLines(load(fileText({ database })))).toEqual([
      '3:28 database.port: the environment variable PORT is not set',
    ]);
  });

  test('never show what came from the environment or a secret', () => {
    const text = fileText({
      service: 'service: { title: "${X}", version: "1", extra: "${X}" }',
      runtime: 'runtime: { queue_size: "${X}", max_concurrent_requests: "${X}" }',
      gateway: 'gateway: { url: "${X}", agent_private_key: "${X}" }',
      database:
        'database: { driver: "${X}", host: h, port: "${X}", name: n, user: u, password_file: "${X}", sslmode: "${X}", require_readonly_account: "${X}" }',
      logging: 'logging: { max_size: "${X}" }',
      metrics: 'metrics: { addr: "${X}" }',
      defaults: 'defaults: { readonly: "${X}", timeout: "${X}", max_rows: "${X}", max_bytes: "${X}" }',
      capabilities:
        'capabilities: { c: { sql: "${X}", params: { a: { type: "${X}" }, b: { type: integer, default: "${X}" }, d: { type: string, pattern: "(${X}" } }, result: { r: { type: "${X}" } } } }',
    });
    const lines = faultLines(load(text, { X: 'canary' }));
    expect(lines.length).toBeGreaterThan(18);
    expect(lines.join('\n')).not.toContain('canary');
  });

  test.each([
    ['', 'the file is empty'],
    ['# nothing\n', 'the file is empty'],
    ['- a', 'must be a mapping'],
  ])('%j as a whole', (text, fault) => {
    expect(faultLines(load(text)).join()).toContain(fault);
  });

  test('a file that cannot be read', () => {
    const readFile = (): Uint8Array => Uint8Array.of(0xff);
    expect(faultLines(loadConfig({ path: 'x', env: {}, readFile }))).toEqual([
      ': cannot read the file: it is not UTF-8 text; name another with --config or AGENT_CAPABILITY_FILE',
    ]);
    const absent = loadConfig({ path: '/nowhere/x', env: {}, readFile: (name) => readFileSync(name) });
    expect(faultLines(absent)).toEqual([
      ': cannot read the file: there is no such file; name another with --config or AGENT_CAPABILITY_FILE',
    ]);
  });
});

describe('a link that takes the place of that of the file', () => {
  const link = { url: 'ws://127.0.0.1:1/ws/agent', privateKey: testKey.seed };
  const withLink = (gateway: string) =>
    loadConfig({
      path: '/etc/svc/capability.yaml',
      env: {},
      readFile: () => new TextEncoder().encode(fileText({ gateway })),
      link,
    });

  test.each([
    ['none', ''],
    ['variables that are not set', 'gateway: { url: "${URL}", agent_private_key: "${KEY}" }'],
    ['files that are not there', 'gateway: { url: x, agent_private_key_file: nowhere, ca_file: nowhere }'],
  ])('the file may have %s', (_, gateway) => {
    expect(withLink(gateway)).toMatchObject({
      config: { gateway: { urls: [link.url], privateKeySeed: seed } },
    });
  });

  test('what is wrong beside it is a fault as ever', () => {
    expect(faultLines(withLink('gateway: { max_links: 0, max_linx: 1 }'))).toHaveLength(2);
  });
});
