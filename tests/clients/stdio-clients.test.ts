import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProcess, SVC, temporaryFolder, testDatabase, type TemporaryFolder } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ROOT } from '../documentation/documents.ts';
import { ANTHROPIC, GEMINI, OPENAI, playModel } from './model.testing.ts';

/** Programs that people use, each configured as its users do, start `svc stdio` and get rows from it. */
const TOOLS = join(ROOT, '.cache/client-tools');
const isInstalled = (name: string): boolean => existsSync(join(TOOLS, `${name}.version`));
const PROGRAMS = {
  claude: [
    join(
      TOOLS,
      `claude-code/node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
    ),
  ],
  gemini: [process.execPath, join(TOOLS, 'gemini-cli/node_modules/@google/gemini-cli/bundle/gemini.js')],
  codex: [process.execPath, join(TOOLS, 'codex/node_modules/@openai/codex/bin/codex.js')],
} as const;
const QUESTION = 'Which book is number 7?';
const ARGUMENTS = { id: 7 };
/** As it stands in an answer, whose quotes are those of a text in JSON. */
const ROW = String.raw`{\"id\":7,\"title\":\"Orlando\"}`;

let place: TemporaryFolder;
let file: string;
beforeAll(async () => {
  const sql =
    "create table book (id integer primary key, title text); insert into book values (7, 'Orlando')";
  const { host, port, name, user, password } = await testDatabase({ sql: [sql] });
  place = await temporaryFolder('library');
  file = join(place.path, 'library.yaml');
  await writeFile(
    file,
    `service: { title: Library, version: 1.0.0 }
database: { host: ${host}, port: ${port}, name: ${name}, user: ${user}, password: "${password}" }
capabilities:
  get_book:
    description: A book by its number
    sql: select id, title from book where id = :id
    params: { id: { type: integer, required: true } }
    result: { id: { type: integer }, title: { type: string } }
`,
  );
});
afterAll(() => place?.remove());

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a client in a home folder that only this test has. */
async function home(): Promise<{
  readonly path: string;
  readonly run: (
    program: keyof typeof PROGRAMS,
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
  ) => Promise<Ran>;
}> {
  const folder = await temporaryFolder('home');
  onTestFinished(() => folder.remove());
  return {
    path: folder.path,
    run: async (program, args, env = {}) => {
      const [command, ...first] = PROGRAMS[program];
      const ran = await runProcess(command, [...first, ...args], {
        cwd: folder.path,
        env: { HOME: folder.path, NO_COLOR: '1', ...env },
      });
      if (ran.code !== 0)
        throw new Error(`${program} ${args.join(' ')}: ${ran.code}\n${ran.stdout}${ran.stderr}`);
      return ran;
    },
  };
}

const COMMAND = (): readonly string[] => [SVC, 'stdio', '--config', file];

describe.skipIf(!isInstalled('claude-code'))('Claude Code', () => {
  const add = (): readonly string[] => ['mcp', 'add', '--scope', 'user', 'library', '--', ...COMMAND()];

  test('connects', async () => {
    const { run } = await home();
    await run('claude', add());
    const { stdout } = await run('claude', ['mcp', 'list']);
    expect(stdout).toMatch(/^library: .* - . Connected$/m);
  });

  test('gives rows to the model', async () => {
    const { run } = await home();
    await run('claude', add());
    const tool = 'mcp__library__get_book';
    const model = await playModel(ANTHROPIC, { name: tool }, ARGUMENTS);
    onTestFinished(() => model.close());
    await run('claude', ['-p', QUESTION, '--allowedTools', tool], {
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: 'none',
      ENABLE_TOOL_SEARCH: 'false',
      // Otherwise the question may be asked before the server has told its tools.
      MCP_CONNECTION_NONBLOCKING: 'false',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    });
    expect(model.answer()).toContain(ROW);
  });

  test('says why nothing is served', async () => {
    const { run } = await home();
    await run('claude', [
      'mcp',
      'add',
      '--scope',
      'user',
      'library',
      '--',
      SVC,
      'stdio',
      '--config',
      'none.yaml',
    ]);
    const { stdout } = await run('claude', ['mcp', 'list']);
    expect(stdout).toMatch(/^library: .* svc cannot start: .*there is no such file/m);
  });
});

describe.skipIf(!isInstalled('gemini-cli'))('Gemini CLI', () => {
  const trusted = { GEMINI_CLI_TRUST_WORKSPACE: 'true' };
  const add = (): readonly string[] => ['mcp', 'add', '--scope', 'user', 'library', ...COMMAND()];

  test('connects', async () => {
    const { run } = await home();
    await run('gemini', add(), trusted);
    const { stdout, stderr } = await run('gemini', ['mcp', 'list'], trusted);
    expect(stdout + stderr).toMatch(/library: .* - Connected/);
  });

  test('gives rows to the model', async () => {
    const { path, run } = await home();
    await mkdir(join(path, '.gemini'));
    const [command, ...args] = COMMAND();
    const security = { auth: { selectedType: 'gemini-api-key' } };
    const settings = { mcpServers: { library: { command, args } }, security };
    await writeFile(join(path, '.gemini/settings.json'), JSON.stringify(settings));
    const model = await playModel(GEMINI, { name: 'mcp_library_get_book' }, ARGUMENTS);
    onTestFinished(() => model.close());
    await run('gemini', ['-p', QUESTION, '--yolo', '--model', 'gemini-2.5-flash'], {
      ...trusted,
      GOOGLE_GEMINI_BASE_URL: model.url,
      GEMINI_API_KEY: 'none',
    });
    expect(model.answer()).toContain(ROW);
  });
});

describe.skipIf(!isInstalled('codex'))('Codex', () => {
  test('gives rows to the model', async () => {
    const { run } = await home();
    await run('codex', ['mcp', 'add', 'library', '--', ...COMMAND()]);
    const model = await playModel(OPENAI, { namespace: 'mcp__library', name: 'get_book' }, ARGUMENTS);
    onTestFinished(() => model.close());
    const settings = [
      'model="played"',
      'model_provider="played"',
      `model_providers.played={name="played",base_url="${model.url}",wire_api="responses"}`,
      // Without it the first question may be asked before the server has told its tools.
      'mcp_servers.library.required=true',
    ];
    await run('codex', [
      'exec',
      ...settings.flatMap((setting) => ['-c', setting]),
      '--skip-git-repo-check',
      '--dangerously-bypass-approvals-and-sandbox',
      QUESTION,
    ]);
    expect(model.answer()).toContain('Orlando');
  });
});

const PYTHON_CLIENT = `
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            tools = [tool.name for tool in (await session.list_tools()).tools]
            result = await session.call_tool("get_book", {"id": 7})
            dumped = result.model_dump(by_alias=True)
            print(json.dumps([tools, dumped["structuredContent"], dumped["isError"]]))

asyncio.run(main())
`;

describe.each(['1.30.0', '2.3.0'])('the official client for Python %s', (version) => {
  test.skipIf(!isInstalled(`mcp-${version}`))('gets rows', async () => {
    const { path } = await home();
    const program = join(path, 'client.py');
    await writeFile(program, PYTHON_CLIENT);
    const env = { PYTHONPATH: join(TOOLS, `mcp-${version}`) };
    const { code, stdout, stderr } = await runProcess('python3', [program, ...COMMAND()], { cwd: path, env });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(JSON.parse(stdout)).toEqual([
      ['get_book'],
      { rows: [{ id: 7, title: 'Orlando' }], count: 1 },
      false,
    ]);
  });
});
