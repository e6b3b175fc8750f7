import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  findValkey,
  runProcess,
  startProcess,
  startValkey,
  temporaryFolder,
  testDatabase,
  type TemporaryFolder,
} from '@svc/testkit';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { ROOT } from '../documentation/documents.ts';
import { asInElectron } from '../standalone/electron.testing.ts';
import { startClient, type StdioClient } from '../standalone/stdio.testing.ts';
import { NAMES } from './make-packages.ts';
import { madeFiles } from './tools.testing.ts';

const [report] = inject('packages');
const made = (kind: string): string => join(report.folder, madeFiles(report, kind)[0] ?? '');
const read = (file: string): ReturnType<typeof JSON.parse> => JSON.parse(readFileSync(file, 'utf8'));

let temporary: TemporaryFolder;
let url = '';
let file = '';

beforeAll(async () => {
  temporary = await temporaryFolder('clients');
  const { host, port, name, user, password } = await testDatabase({
    sql: [
      'create table book (id int primary key, title text)',
      "insert into book values (66, 'The Owl')",
      'analyze book',
    ],
  });
  url = `postgres://${user}:${encodeURIComponent(password)}@${host}:${port}/${name}`;
  file = join(temporary.path, 'library.yaml');
  await writeFile(
    file,
    `service: { title: Library, version: 1.2.0, description: Books of a library }
database: { host: ${host}, port: ${port}, name: ${name}, user: ${user}, password: "${password}" }
capabilities:
  get_book:
    description: A book by its number
    sql: select title from book where id = :id
    params: { id: { type: integer, required: true } }
    result: { title: { type: string } }
`,
  );
});
afterAll(() => temporary.remove());

/** Starts a server as a client does that is told of it. */
async function start(
  [program, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
): Promise<StdioClient> {
  const client = await startClient(program, args, { env });
  onTestFinished(async () => void (await client.process.stop()));
  return client;
}

/** The answer as text, which a client gets with an output schema and without. */
async function book(client: StdioClient): Promise<unknown> {
  await client.initialize();
  const { result } = await client.request('tools/call', { name: 'get_book', arguments: { id: 66 } });
  return result?.['content'];
}

const THE_OWL = [{ type: 'text', text: expect.stringContaining('"title":"The Owl"') }];

describe('the package of npm, installed without a network', () => {
  let folder = '';
  beforeAll(async () => {
    const root = join(temporary.path, 'npm');
    await mkdir(root);
    const { code, stderr } = await runProcess(
      'npm',
      ['install', '--offline', '--prefix', root, made('npm')],
      {
        env: { npm_config_cache: join(root, 'cache'), npm_config_userconfig: join(root, 'npmrc') },
        withinMs: 60_000,
      },
    );
    if (code !== 0) throw new Error(`npm install ended with ${code}: ${stderr}`);
    folder = join(root, 'node_modules');
  });

  test.each(['svc', 'reports'])('answers a call by the command %s', async (command) => {
    const client = await start([join(folder, '.bin', command), 'stdio', '--config', file], {});
    expect(await book(client)).toEqual(THE_OWL);
    client.end();
    expect(await client.process.exited).toEqual({ code: 0, signal: null });
  });

  test('is a plugin whose server answers a call', async () => {
    const root = join(folder, NAMES.npm);
    expect(read(join(root, '.claude-plugin/plugin.json'))).toMatchObject({
      name: expect.stringMatching(/^[a-z]+(?:-[a-z]+)+$/),
      version: report.version,
    });
    const servers = Object.values<{ command: string; args: readonly string[] }>(
      read(join(root, '.mcp.json')).mcpServers,
    );
    expect(servers).toHaveLength(1);
    const [{ command, args } = { command: '', args: [] }] = servers;
    const words = args.map((word) => word.replace('${CLAUDE_PLUGIN_ROOT}', root));
    expect(words).toEqual([join(root, 'bin/svc'), 'stdio']);
    // Windows has no such modes.
    await chmod(join(root, 'bin/svc'), 0o644);
    expect(await book(await start([command, ...words], { AGENT_CAPABILITY_FILE: file }))).toEqual(THE_OWL);
  });
});

describe.skipIf(findValkey() === undefined)('a service with Valkey', () => {
  test('has the client of it inside', async () => {
    const valkey = await startValkey();
    onTestFinished(() => valkey.stop());
    expect(await runProcess('tar', ['-xzf', made('npm'), '-C', temporary.path])).toMatchObject({ code: 0 });
    const args = ['serve', '--config', file, '--key-file', join(temporary.path, 'key')];
    const service = await startProcess(join(temporary.path, 'package/bin/svc'), args, {
      env: { GATEWAY_ADDR: '127.0.0.1:0', GATEWAY_VALKEY_URL: `redis://127.0.0.1:${valkey.port}` },
    });
    onTestFinished(async () => void (await service.stop()));
    await service.waitForLine((line) => line.includes('"event":"listening"'));
    // It listens for revoked keys.
    await expect.poll(() => valkey.command('client', 'list')).toMatch(/ sub=1 .* resp=3$/m);
  });
});

describe('the bundle', () => {
  let folder = '';
  let manifest: ReturnType<typeof JSON.parse>;
  beforeAll(async () => {
    folder = join(temporary.path, 'bundle');
    for (const [name, bytes] of Object.entries(unzipSync(readFileSync(made('mcpb'))))) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), bytes);
    }
    manifest = read(join(folder, 'manifest.json'));
  });

  /** Starts it as Claude Desktop does, in an Electron with words of its own on the command line. */
  async function startBundle(settings: Readonly<Record<string, string>>): Promise<StdioClient> {
    const { args, env } = manifest.server.mcp_config;
    const words = args.map((word: string) => word.replace('${__dirname}', folder));
    const filled = Object.entries<string>(env).map(([name, value]) => [
      name,
      value.replace(/^\$\{user_config\.(\w+)\}$/, (whole, key: string) => settings[key] ?? whole),
    ]);
    const electron = await asInElectron(temporary.path);
    return start([...electron, ...words, '--type=utility', 'serve'], Object.fromEntries(filled));
  }

  test('has the settings of a person with a database and of one with a file', () => {
    expect(manifest).toMatchObject({ manifest_version: '0.3', server: { type: 'node' } });
    expect(manifest.user_config).toMatchObject({
      database_url: { type: 'string', sensitive: true, required: false },
      capability_file: { type: 'file', required: false },
    });
  });

  test('answers a call with a capability file', async () => {
    expect(await book(await startBundle({ capability_file: file }))).toEqual(THE_OWL);
  });

  test('answers a call with a URL', async () => {
    const client = await startBundle({ database_url: url });
    expect(await book(client)).toEqual(THE_OWL);
  });

  test('tells the client that a setting is missing', async () => {
    const { error } = await (await startBundle({})).initialize();
    expect(error?.message).toContain('SVC_DATABASE_URL');
  });

  const mcpb = join(ROOT, '.cache/package-tools/mcpb/node_modules/.bin/mcpb');
  test.skipIf(!existsSync(mcpb))('is one to the tool of its format', async () => {
    const unpacked = join(temporary.path, 'unpacked');
    const tool = (...args: readonly string[]): Promise<object> => runProcess(mcpb, args);
    expect(await tool('unpack', made('mcpb'), unpacked)).toMatchObject({ code: 0 });
    expect(await tool('validate', join(unpacked, 'manifest.json'))).toMatchObject({ code: 0 });
  });
});

describe('what is published', () => {
  test('server.json follows the schema and names both packages', () => {
    const server = read(made('server'));
    const schema = read(join(ROOT, 'tests/packages/mcp-registry/server.schema.json'));
    const validate = addFormats.default(new Ajv({ strict: false })).compile(schema);
    expect(validate(server) ? [] : validate.errors).toEqual([]);
    expect(server).toMatchObject({
      $schema: schema.$id,
      name: NAMES.mcp,
      version: report.version,
      packages: [
        { registryType: 'npm', identifier: NAMES.npm, version: report.version },
        {
          registryType: 'mcpb',
          identifier: expect.stringMatching(/^https:\/\/.*\.mcpb$/),
          fileSha256: createHash('sha256')
            .update(readFileSync(made('mcpb')))
            .digest('hex'),
        },
      ],
    });
  });

  test('the package states the name of the server, by which the registry knows its owner', async () => {
    const { stdout } = await runProcess('tar', ['-xzOf', made('npm'), 'package/package.json']);
    expect(JSON.parse(stdout)).toMatchObject({ name: NAMES.npm, mcpName: NAMES.mcp });
  });

  test('the marketplace has the package of npm as the source of the plugin', () => {
    expect(read(made('marketplace')).plugins).toMatchObject([
      { source: { source: 'npm', package: NAMES.npm, version: report.version } },
    ]);
  });
});
