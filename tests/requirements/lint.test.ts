import { join } from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { runProcess, SVC_AGENT, temporaryFolder, type TemporaryFolder } from '@svc/testkit';
import { writeFile } from 'node:fs/promises';
import { PRIVATE_KEY } from './faulty-configuration.testing.ts';

let folder: TemporaryFolder;
let takes: (file: string) => boolean;
beforeAll(async () => {
  folder = await temporaryFolder('lint');
  const { stdout } = await runProcess(SVC_AGENT, ['schema']);
  const validate = new Ajv({ strict: false }).compile(JSON.parse(stdout));
  takes = (file) => validate(parse(file));
});
afterAll(() => folder.remove());

async function check(file: string): Promise<{ code: number | null; lines: readonly string[] }> {
  const path = join(folder.path, 'c.yaml');
  await writeFile(path, file);
  const env = { PASSWORD: 'p', PORT: '5432', RETRY: 'true' };
  const { code, stdout } = await runProcess(SVC_AGENT, ['check', '--offline', '--config', path], { env });
  return {
    code,
    lines: stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(folder.path, '')),
  };
}

const GOOD = `
service: { title: Library, version: "1.0", description: Books }
runtime: { max_concurrent_requests: 5, queue_size: 0 }
gateway:
  url: wss://gateway.example.com/ws/agent
  agent_private_key: ${PRIVATE_KEY}
database:
  driver: postgres
  host: db.example.com
  port: \${PORT}
  name: library
  user: reader
  password: \${PASSWORD}
  sslmode: verify-full
  max_connections: 4
  require_readonly_account: \${RETRY}
logging: { max_size: 1MB, max_files: 2 }
metrics: { addr: "127.0.0.1:9090" }
defaults: { readonly: true, timeout: 10s, max_rows: 100, max_bytes: 64KB }
capabilities:
  find_book:
    description: Finds a book
    sql: select id, title from book where id = :id and :tags is not null
    params:
      id: { type: integer, required: true, minimum: 1, maximum: 10, multipleOf: 1, description: Number }
      tags: { type: array, items: { type: string, minLength: 1 }, maxItems: 3, default: [a] }
    policy: { timeout: 1m30s, max_rows: 5, max_bytes: 1KB, on_limit: error, allow_functions: [now] }
    expose_in_openapi: false
    result:
      id: { type: integer, format: int64, nullable: false, description: Number }
      title: { type: string }
`;

const tags = ['file:schema', 'file:lint'];

test('a file with every kind of key is taken by the schema and by the check', { tags }, async () => {
  expect(takes(GOOD)).toBe(true);
  expect(await check(GOOD)).toEqual({
    code: 0,
    lines: [
      '/c.yaml: well formed, 1 capability',
      'offline: tables, columns, types and functions are checked with the database only',
    ],
  });
});

// What is written, what is written instead, and what the check says of it.
const FAULTS = [
  ['title: Library', 'titel: Library', '2:12  service.titel: unknown key, did you mean `title`?'],
  ['queue_size: 0', 'queue_size: -1', '3:52  runtime.queue_size: must be >= 0'],
  ['port: ${PORT}', 'port: high', '10:9  database.port: must be an integer'],
  [
    'sslmode: verify-full',
    'sslmode: verify',
    '14:12  database.sslmode: must be one of disable, prefer, require, verify-full',
  ],
  [
    'max_size: 1MB',
    'max_size: much',
    '17:22  logging.max_size: must be a size such as `512KB`, `10MB` or `1GB`',
  ],
  ['addr: "127.0.0.1:9090"', 'addr: "9090"', '18:18  metrics.addr: must be'],
  ['readonly: true', 'readonly: false', '19:23  defaults.readonly: must be true'],
  ['find_book:', 'Find-Book:', '21:3  capabilities.Find-Book: this is no capability name'],
  [
    'type: integer, required',
    'type: int, required',
    '25:19  capabilities.find_book.params.id.type: must be one of',
  ],
  ['timeout: 1m30s', 'timeout: 90', '27:24  capabilities.find_book.policy.timeout: must be a duration'],
  [
    'on_limit: error',
    'on_limit: stop',
    'capabilities.find_book.policy.on_limit: must be one of truncate, error',
  ],
  [
    'title: { type: string }',
    'title: { type: string, nullabel: true }',
    '31:30  capabilities.find_book.result.title.nullabel: unknown key, did you mean `nullable`?',
  ],
] as const;

describe.each(FAULTS)('%s', (written, instead) => {
  test(`${instead} is refused by the schema`, { tags }, () => {
    expect(takes(GOOD.replace(written, instead))).toBe(false);
  });
});

test(
  'the check tells all of them at once, in the order of the file, each at its place',
  { tags },
  async () => {
    const file = FAULTS.reduce((text, [written, instead]) => text.replace(written, instead), GOOD);
    const { code, lines } = await check(file);
    expect(code).toBe(2);
    const expected = FAULTS.map(([, , fault]) => fault.replaceAll('find_book', 'Find-Book'));
    expect(lines).toEqual(expected.map((fault) => expect.stringContaining(fault)));
  },
);

test.each([
  ['no gateway', /^gateway:\n(?: .*\n)+/m],
  ['no database', /^database:\n(?: .*\n)+/m],
  ['no capabilities', /^capabilities:\n(?: .*\n)+/m],
  ['no SQL', /^ +sql: .*\n/m],
  ['no result', /^ +result:\n(?: {6}.*\n)+/m],
])('%s is refused by the schema', { tags }, (_title, part) => {
  expect(takes(GOOD.replace(part, ''))).toBe(false);
});
