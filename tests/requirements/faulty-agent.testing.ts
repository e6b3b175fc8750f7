import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { BOTH_KEYS, CANARY, PRIVATE_KEY, type FaultyConfiguration } from './faulty-configuration.testing.ts';

const SECTIONS = {
  service: 'service: { title: Library, version: 1.0.0 }',
  gateway: `gateway: { url: wss://gateway.example.com/ws/agent, agent_private_key: ${PRIVATE_KEY} }`,
  database: `database: { host: db.example.com, name: library, user: reader, password: ${CANARY} }`,
  capabilities: `capabilities: { ping: { sql: select '${CANARY}' as one, result: { one: { type: string } } } }`,
};

/** A capability file, with these sections in the place of sound ones. */
export function fileWith(sections: Readonly<Record<string, string>>): string {
  return `${Object.values({ ...SECTIONS, ...sections }).join('\n')}\n`;
}

type Given = Partial<Omit<FaultyConfiguration, 'title' | 'binary' | 'names'>>;

function agent(title: string, given: Given, ...names: readonly string[]): FaultyConfiguration {
  return { title, binary: 'svc-agent', ...given, names };
}

function text(title: string, content: string | Uint8Array, ...names: readonly string[]): FaultyConfiguration {
  return agent(title, { files: { 'capability.yaml': content } }, ...names);
}

function sections(
  title: string,
  replaced: Readonly<Record<string, string>>,
  ...names: readonly string[]
): FaultyConfiguration {
  return text(title, fileWith(replaced), ...names);
}

const SQL = `    sql: select '${CANARY}' as title where :id > 0`;
const RESULT = '    result: { title: { type: string } }';

/** A capability with these parameters. */
function params(title: string, lines: readonly string[], ...names: readonly string[]): FaultyConfiguration {
  const block = lines.map((line) => `      ${line}`).join('\n');
  const file = ['capabilities:', '  find_book:', SQL, '    params:', block, RESULT].join('\n');
  return sections(title, { capabilities: file }, ...names);
}

export const FAULTY_AGENTS: readonly FaultyConfiguration[] = [
  // The file.
  agent('there is no capability file', { asProcess: true }, 'cannot read the file: there is no such file'),
  agent(
    'the file of --config is missing',
    { args: ['--config', 'gone.yaml'] },
    'gone.yaml  cannot read the file: there is no such file',
  ),
  agent(
    'the file of AGENT_CAPABILITY_FILE is a folder',
    {
      asProcess: true,
      env: { AGENT_CAPABILITY_FILE: 'conf' },
      prepare: (folder) => mkdir(join(folder, 'conf')),
    },
    'conf  cannot read the file: it is a folder',
  ),
  agent(
    'the file is a circle of links',
    { prepare: (folder) => symlink('capability.yaml', join(folder, 'capability.yaml')) },
    'cannot read the file: its symbolic links',
  ),
  text('the file is empty', '', 'the file is empty'),
  text('the file holds comments and nothing else', '# capabilities:\n', 'the file is empty'),
  text(
    'the file is no text',
    new Uint8Array([0x61, 0x3a, 0x20, 0xff]),
    'cannot read the file: it is not UTF-8',
  ),
  text('the file is huge', '#'.repeat(4 * 1024 ** 2 + 1), 'cannot read the file: it is larger than 4MB'),
  text('the file is a list', `- ${CANARY}\n`, ':1:1  must be a mapping'),

  // Its syntax.
  text('a tab indents', `database:\n\tpassword: ${CANARY}\n`, ':2:1  '),
  text('a quote is not closed', `database:\n  password: "${CANARY}\n  port: 5432\n`, ':2:13  '),
  text('a value begins with @', `database:\n  password: @${CANARY}\n`, ':2:13  '),
  text('a value holds a colon and a blank', `database:\n  password: ${CANARY}: x\n`, ':2:13  '),
  text('a space is missing after a colon', `database:\n  host:db\n  password: ${CANARY}\n`, ':2:3  '),
  text('two documents', fileWith({ capabilities: 'capabilities: {}\n---\nmore: 1' }), ':5:1  '),
  text('indentation that fits nothing', `database:\n    host: db\n  password: ${CANARY}\n`, ':3:1  '),
  sections(
    'keys stand twice',
    { service: 'service: { title: A, title: B, version: 1.0.0 }\nservice: {}' },
    ':1:22  service.title: ',
    ':2:1  service: ',
  ),
  sections(
    'a merge key, and an alias that stands before its anchor',
    {
      service: 'runtime: *load\ndefaults: &limits { timeout: 5s }',
      capabilities:
        'capabilities: { ping: { sql: x, policy: { <<: *limits }, result: { a: { type: string } } } }\nlogging: &load {}',
    },
    ':1:10  runtime: this alias',
    ':5:43  capabilities.ping.policy."<<": merge keys',
  ),
  sections('a tag', { service: 'service: { title: !secret x, version: 1.0.0 }' }, ':1:'),

  // Its keys.
  text(
    'sections are missing',
    'service: { title: Library }\n',
    'gateway: is required',
    'database: is required',
    'capabilities: is required',
  ),
  text(
    'sections are empty',
    'service:\ngateway:\ndatabase:\ncapabilities:\n',
    ':1:9  service: is empty',
    ':2:9  gateway: is empty',
    ':3:10  database: is empty',
    ':4:14  capabilities: is empty',
  ),
  text(
    'required keys are missing',
    'gateway: {}\ndatabase: {}\ncapabilities: { ping: {} }\n',
    ':1:1  gateway.url: is required',
    ':1:1  gateway.agent_private_key: is required',
    ':2:1  database.host: is required',
    ':2:1  database.name: is required',
    ':2:1  database.user: is required',
    ':2:1  database.password: is required',
    ':3:17  capabilities.ping.sql: is required',
    ':3:17  capabilities.ping.result: is required',
  ),
  sections(
    'keys are misspelt',
    {
      service: 'servise: { title: Library }\nlogging: { max_sise: 10MB, maxfiles: 3 }',
      database: `database: { host: db, name: library, user: reader, pasword: ${CANARY} }`,
      capabilities:
        'capabilities: { ping: { sequel: x, reslt: {}, sql: x, result: { a: { typ: string } } } }',
    },
    ':1:1  servise: unknown key, did you mean `service`?',
    'logging.max_sise: unknown key, did you mean `max_size`?',
    'logging.maxfiles: unknown key, did you mean `max_files`?',
    'database.password: is required',
    'database.pasword: unknown key, did you mean `password`?',
    'capabilities.ping.sequel: unknown key',
    'capabilities.ping.reslt: unknown key, did you mean `result`?',
    'capabilities.ping.result.a.type: is required',
    'capabilities.ping.result.a.typ: unknown key, did you mean `type`?',
  ),

  // Values of the sections.
  sections(
    'values of the wrong type',
    {
      service:
        'service: { title: 5, version: 1.0 }\nruntime: { max_concurrent_requests: many, queue_size: -1 }',
      database: `database: { host: [db], port: "5432", name: yes, user: {}, password: ${CANARY} }`,
    },
    'service.title: must be text',
    'service.version: must be text',
    'runtime.max_concurrent_requests: must be an integer',
    'runtime.queue_size: must be >= 0',
    'database.host: must be text',
    'database.port: must be an integer',
    'database.user: must be text',
  ),
  sections(
    'a driver, a mode and a port that are none',
    {
      database: `database: { driver: oracle, host: db, port: 65536, name: a, user: b, password: ${CANARY}, sslmode: verify-ca }`,
    },
    'database.driver: must be one of postgres, mariadb, mysql, sqlite, duckdb',
    'database.port: must be <= 65535',
    'database.sslmode: must be one of',
  ),
  sections(
    'sizes and durations that are none',
    {
      service:
        'logging: { max_size: 10 megabytes, max_files: 0 }\ndefaults: { timeout: 30, max_rows: 0, max_bytes: 1TB }',
    },
    'logging.max_size: must be a size',
    'logging.max_files: must be >= 1',
    'defaults.timeout: must be a duration',
    'defaults.max_rows: must be >= 1',
    'defaults.max_bytes: must be a size',
  ),
  sections(
    'sizes and durations out of range',
    { service: 'logging: { max_size: 10B }\ndefaults: { timeout: 25h, max_bytes: 1GB }' },
    'logging.max_size: must be at least 1KB',
    'defaults.timeout: must be between 1ms and 24h',
    'defaults.max_bytes: must be 2B to 64MB',
  ),
  sections(
    'writing is asked for',
    { service: 'defaults: { readonly: false }' },
    'defaults.readonly: must be true',
  ),
  ...(
    [
      ['is HTTP', 'http://gateway.example.com/ws/agent'],
      ['is not encrypted', 'ws://gateway.example.com/ws/agent'],
      ['lacks the path', 'wss://gateway.example.com'],
      ['has a query', `wss://gateway.example.com/ws/agent?token=${CANARY}`],
      ['has a password', `wss://user:${CANARY}@gateway.example.com/ws/agent`],
      ['is no URL', 'gateway.example.com'],
    ] as const
  ).map(([what, url]) =>
    sections(
      `the URL of the gateway ${what}`,
      { gateway: `gateway: { url: "${url}", agent_private_key: ${PRIVATE_KEY} }` },
      ':2:17  gateway.url: must ',
    ),
  ),

  // Secrets.
  sections(
    'the private key is cut',
    {
      gateway: `gateway: { url: wss://gateway.example.com/ws/agent, agent_private_key: ${PRIVATE_KEY.slice(1)} }`,
    },
    'gateway.agent_private_key: must be a base64url Ed25519 private key',
  ),
  sections(
    'the private key comes with the public key of another',
    {
      gateway: `gateway: { url: wss://gateway.example.com/ws/agent, agent_private_key: ${BOTH_KEYS.slice(0, -2)}AA }`,
    },
    'gateway.agent_private_key: holds a public key that does not belong',
  ),
  agent(
    'secrets are given twice, and files of them are missing',
    {
      files: {
        key: PRIVATE_KEY,
        'capability.yaml': fileWith({
          gateway: `gateway: { url: wss://gateway.example.com/ws/agent, agent_private_key: ${PRIVATE_KEY}, agent_private_key_file: key }`,
          database:
            'database: { host: db, name: a, user: b, password_file: gone, ssl_root_cert: capability.yaml }',
        }),
      },
    },
    'gateway.agent_private_key_file: `agent_private_key` and `agent_private_key_file` are both given',
    'database.password_file: cannot read `gone`: there is no such file',
    'database.ssl_root_cert: must name a file of PEM certificates',
  ),
  agent(
    'variables are missing or misspelt',
    {
      asProcess: true,
      env: { DB_HOST: CANARY, EMPTY: '' },
      files: {
        'capability.yaml': fileWith({
          gateway: 'gateway: { url: "${GATEWAY_URL}", agent_private_key: "${AGENT_PRIVATE_KEY}" }',
          database:
            'database: { host: "${EMPTY}", port: "${DB_HOST}", name: "${db name}", user: "a${", password: "${DB_PASSWD}" }',
        }),
      },
    },
    'gateway.url: the environment variable GATEWAY_URL is not set',
    'gateway.agent_private_key: the environment variable AGENT_PRIVATE_KEY is not set',
    'database.host: must not be empty',
    'database.port: must be an integer',
    'database.name: `${` must be followed',
    'database.user: `${` must be followed',
    'database.password: the environment variable DB_PASSWD is not set',
  ),

  // Capabilities.
  sections(
    'names that cannot be',
    {
      capabilities: [
        'capabilities:',
        '  Find-Book:',
        `    sql: select '${CANARY}' as one`,
        '    params: { 1st: { type: integer } }',
        '    result: { 1: { type: integer } }',
      ].join('\n'),
    },
    'capabilities.Find-Book: this is no capability name',
    'capabilities.Find-Book.params.1st: this is no parameter name',
    'capabilities.Find-Book.result.1: this is no field name',
  ),
  sections(
    'a capability with faults in every part',
    {
      capabilities: [
        'capabilities:',
        '  find_book:',
        '    sql: ""',
        '    expose_in_openapi: "no"',
        '    policy: { timeout: 0s, max_rows: 1.5, max_bytes: 1, on_limit: trunkate, allow_functions: [a b], retries: 3 }',
        '    result: {}',
      ].join('\n'),
    },
    'capabilities.find_book.sql: must not be empty',
    'capabilities.find_book.expose_in_openapi: must be true or false',
    'capabilities.find_book.policy.timeout: must be between 1ms and 24h',
    'capabilities.find_book.policy.max_rows: must be an integer',
    'capabilities.find_book.policy.max_bytes: must be 2B to 64MB',
    'capabilities.find_book.policy.on_limit: must be one of truncate, error; did you mean `truncate`?',
    'capabilities.find_book.policy.allow_functions.0: must be the name of a function',
    'capabilities.find_book.policy.retries: unknown key',
    'capabilities.find_book.result: must have at least 1 entry',
  ),
  sections(
    'result fields with faults',
    {
      capabilities: [
        'capabilities:',
        '  find_book:',
        `    sql: select '${CANARY}' as a`,
        '    result: { a: { type: int }, b: integer, e: { type: text }, c: { type: date, format: date }, d: { type: uuid, nullable: "yes" } }',
      ].join('\n'),
    },
    'capabilities.find_book.result.a.type: must be one of',
    'capabilities.find_book.result.b: must be a mapping, as in b: { type: integer }',
    'capabilities.find_book.result.e.type: must be one of integer, number, string, boolean, date, datetime, array, object; did you mean `string`?',
    'capabilities.find_book.result.c.format: does not fit the type date',
    'capabilities.find_book.result.d.type: must be one of',
    'capabilities.find_book.result.d.nullable: must be true or false',
  ),
  params(
    'constraints that do not fit their types',
    [
      'id: { type: integer, minLength: 1, pattern: "^a" }',
      'name: { type: string, minimum: 1, minItems: 1 }',
      'day: { type: date, format: date, maximum: 5 }',
      'ids: { type: array, minLength: 1 }',
      'raw: { type: object, enum: [1] }',
    ],
    'params.id.minLength: does not fit the type integer',
    'params.id.pattern: does not fit the type integer',
    'params.name.minimum: does not fit the type string',
    'params.name.minItems: does not fit the type string',
    'params.day.format: does not fit the type date',
    'params.day.maximum: does not fit the type date',
    'params.ids.items: is required for the type array',
    'params.ids.minLength: does not fit the type array',
    'params.raw.enum: does not fit the type object',
  ),
  params(
    'constraints with values that cannot be',
    [
      'id: { type: integr }',
      'a: { type: integer, minimum: "1", multipleOf: 0 }',
      'b: { type: integer, minimum: 5, maximum: 4 }',
      'c: { type: string, pattern: "(", minLength: -1 }',
      'd: { type: string, format: phone }',
      'e: { type: integer, enum: [1, two] }',
      'f: { type: integer, minimum: 1, default: 0 }',
      'g: { type: integer, required: true, default: 1 }',
      'h: { type: array, items: { type: object } }',
    ],
    'params.id.type: must be one of integer, number, string, boolean, date, datetime, uuid, array, object; did you mean `integer`?',
    'params.a.minimum: must be a number',
    'params.a.multipleOf: must be > 0',
    'params.b.',
    'params.c.pattern: must be a regular expression',
    'params.c.minLength: must be >= 0',
    'params.d.format: must be one of',
    'params.e.enum.1: must be an integer',
    'params.f.default: must be >= 1',
    'params.g.default: a required parameter cannot have a default',
    'params.h.items.type: must be one of',
  ),
  params(
    'a parameter is required in words',
    ['id: { type: integer, required: yes }'],
    'params.id.required: must be true or false',
  ),
];
