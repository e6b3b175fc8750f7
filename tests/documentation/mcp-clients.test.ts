import { spawnSync } from 'node:child_process';
import { Ajv2020, type SchemaObject } from 'ajv/dist/2020.js';
import { ask, createKey, runProcess, startService, testDatabase, type Service } from '@svc/testkit';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readDocument, type Block } from './documents.ts';

/** Every snippet has the format that its client documents, and what it sends is taken by a running gateway. */
const URL_OF_GUIDE = 'https://gateway.example.com/mcp';
const guides = ['mcp-clients', 'mcp-programs'].map((name) => readDocument(`docs/guides/${name}.md`));
const blocks = guides.flatMap((guide) => guide.blocks);
const NOT_A_CLIENT = new Set([
  'Any other client',
  'Good to know',
  'Checking a connection',
  'Checked against',
]);

const missing = ['curl', 'python3'].filter((program) => spawnSync('which', [program]).status !== 0);
if (missing.length > 0) {
  process.stderr.write(
    `\nSKIPPED: tests of docs/guides/mcp-clients.md and mcp-programs.md that need ${missing.join(', ')}; ` +
      `to run them: apt-get install -y --no-install-recommends ${missing.join(' ')}\n`,
  );
}

function snippet(section: string, language: string, index = 0): string {
  const found = blocks.filter((block) => sectionOf(block) === section && block.language === language);
  const text = found[index]?.text;
  if (text === undefined) throw new Error(`no guide has ${language} under ${section}`);
  return text;
}

function sectionOf({ at }: Block): string {
  const [page, line] = at.split(':');
  const lines = guides.find(({ path }) => path === page)?.text.split('\n') ?? [];
  const above = lines.slice(0, Number(line)).filter((text) => text.startsWith('## '));
  return above.at(-1)?.slice('## '.length) ?? '';
}

let service: Service;
beforeAll(async () => {
  service = await startService({
    database: await testDatabase({
      sql: [
        `create table book (id int primary key, title text not null, secret text);
         insert into book values (7, 'Orlando', 'x'), (8, 'The Waves', 'x')`,
      ],
    }),
    capabilities: `
defaults: { max_rows: 1 }
capabilities:
  find_book:
    description: Books by title
    sql: select id, title from book where title = coalesce(:title, title) order by id
    params:
      title: { type: string, maxLength: 100 }
    result:
      id: { type: integer }
      title: { type: string }
  hidden:
    description: Not shown
    expose_in_openapi: false
    sql: select 1 as one
    result:
      one: { type: integer }
`,
    keys: { nothing: 'no_such', hidden_only: 'hidden' },
  });
});
afterAll(() => service?.stop());

const apiKey = (): string => service.apiKeys['all'] ?? '';
const RPC = (method: string, params?: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

/** What the gateway answers to the headers of a snippet, with the key put in for the variable. */
async function listed(headers: Readonly<Record<string, string>>, variable: string): Promise<unknown> {
  const given = Object.entries(headers).map(([name, value]) => [name, value.replace(variable, apiKey())]);
  const answer = await ask(`${service.url}/mcp`, {
    method: 'POST',
    body: RPC('tools/list'),
    headers: Object.fromEntries(given),
  });
  return [answer.status, answer.json];
}
const BOTH_TOOLS = [200, { jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'find_book' }] } }];

function matching<T>(schema: SchemaObject, value: unknown): T {
  const validate = new Ajv2020({ strict: true, strictRequired: false }).compile<T>(schema);
  if (!validate(value)) throw new Error(JSON.stringify(validate.errors));
  return value;
}

const TEXT = { type: 'string' };
const URL_TEXT = { const: URL_OF_GUIDE };
const HEADERS = { type: 'object', additionalProperties: TEXT, minProperties: 1 };
const object = (required: readonly string[], properties: Readonly<Record<string, object>>): SchemaObject => ({
  type: 'object',
  required,
  properties,
  additionalProperties: false,
});
const servers = (server: SchemaObject, key = 'mcpServers'): SchemaObject =>
  object([key], { [key]: object(['library'], { library: server }) });

interface Remote {
  readonly headers: Record<string, string>;
}
interface McpServers {
  readonly mcpServers: { readonly library: Remote };
}

describe('the formats of the clients', () => {
  // https://code.claude.com/docs/en/mcp: options, then name, then URL; `--header` may come last.
  test('Claude Code, command', async () => {
    const words = snippet('Claude Code', 'sh')
      .replaceAll(/\\\n\s*/g, '')
      .trim();
    const header =
      /^claude mcp add --transport http --scope user library (\S+) --header "([^":]+): ([^"]+)"$/;
    const [, url, name = '', value = ''] = header.exec(words) ?? [];
    expect(url).toBe(URL_OF_GUIDE);
    expect(await listed({ [name]: value }, '$SVC_API_KEY')).toMatchObject(BOTH_TOOLS);
  });

  // The same page: `type`, `url`, `headers`, with ${VAR} expanded in `url` and `headers`.
  test('Claude Code, .mcp.json', async () => {
    const remote = object(['type', 'url', 'headers'], {
      type: { const: 'http' },
      url: URL_TEXT,
      headers: HEADERS,
    });
    const file = matching<McpServers>(servers(remote), JSON.parse(snippet('Claude Code', 'json')));
    const { headers } = file.mcpServers.library;
    expect(await listed(headers, '${SVC_API_KEY}')).toMatchObject(BOTH_TOOLS);
  });

  // https://github.com/geelen/mcp-remote, README: `--header Name:value`, ${VAR} from `env`, `--transport`, and
  // that Claude Desktop on Windows breaks arguments with a space.
  test('Claude Desktop, through mcp-remote', async () => {
    const local = object(['command', 'args', 'env'], {
      command: { const: 'npx' },
      args: { type: 'array', items: { type: 'string', pattern: String.raw`^\S+$` } },
      env: { type: 'object', additionalProperties: TEXT },
    });
    interface Local {
      readonly mcpServers: { readonly library: { args: string[]; env: Record<string, string> } };
    }
    const file = matching<Local>(servers(local), JSON.parse(snippet('Claude Desktop', 'json')));
    const { args, env } = file.mcpServers.library;
    expect(args.slice(0, -1)).toEqual([
      '-y',
      'mcp-remote',
      URL_OF_GUIDE,
      '--transport',
      'http-only',
      '--header',
    ]);
    const [name = '', value = ''] = (args.at(-1) ?? '').split(':');
    expect(Object.keys(env)).toEqual(['SVC_API_KEY']);
    expect(await listed({ [name]: value }, '${SVC_API_KEY}')).toMatchObject(BOTH_TOOLS);
  });

  // https://cursor.com/docs/mcp: `url` and `headers`, with ${env:NAME} resolved in both.
  test('Cursor', async () => {
    const remote = object(['url', 'headers'], { url: URL_TEXT, headers: HEADERS });
    const file = matching<McpServers>(servers(remote), JSON.parse(snippet('Cursor', 'json')));
    const { headers } = file.mcpServers.library;
    expect(await listed(headers, '${env:SVC_API_KEY}')).toMatchObject(BOTH_TOOLS);
  });

  // https://code.visualstudio.com/docs/copilot/reference/mcp-configuration
  test('VS Code', async () => {
    const schema = object(['inputs', 'servers'], {
      inputs: {
        type: 'array',
        items: object(['type', 'id', 'description'], {
          type: { const: 'promptString' },
          id: TEXT,
          description: TEXT,
          password: { const: true },
        }),
      },
      servers: object(['library'], {
        library: object(['type', 'url'], { type: { const: 'http' }, url: URL_TEXT, headers: HEADERS }),
      }),
    });
    interface McpJson {
      readonly inputs: { id: string }[];
      readonly servers: { readonly library: Remote };
    }
    const file = matching<McpJson>(schema, JSON.parse(snippet('VS Code', 'json')));
    const variable = `\${input:${file.inputs[0]?.id}}`;
    expect(await listed(file.servers.library.headers, variable)).toMatchObject(BOTH_TOOLS);
  });

  // https://developers.openai.com/codex/mcp and RawMcpServerConfig of openai/codex. One table of plain strings
  // is all the TOML that is needed.
  test('OpenAI Codex', async () => {
    const [table, ...pairs] = snippet('OpenAI Codex', 'toml').trim().split('\n');
    expect(table).toMatch(/^\[mcp_servers\.[A-Za-z0-9_-]+\]$/);
    const fields = pairs.map((line) => /^([a-z_]+) = "([^"\\]*)"$/.exec(line)?.slice(1));
    expect(fields).toEqual([
      ['url', URL_OF_GUIDE],
      ['bearer_token_env_var', 'SVC_API_KEY'],
    ]);
    expect(await listed({ Authorization: 'Bearer KEY' }, 'KEY')).toMatchObject(BOTH_TOOLS);
  });

  // docs/tools/mcp-server.md and docs/reference/configuration.md of google-gemini/gemini-cli: $NAME is resolved
  // in every string of settings.json; no underscore in the name of a server.
  test('Gemini CLI', async () => {
    const remote = object(['httpUrl'], { httpUrl: URL_TEXT, headers: HEADERS, timeout: { type: 'integer' } });
    const file = matching<McpServers>(servers(remote), JSON.parse(snippet('Gemini CLI', 'json')));
    const { headers } = file.mcpServers.library;
    expect(await listed(headers, '$SVC_API_KEY')).toMatchObject(BOTH_TOOLS);
  });

  // packages/@n8n/nodes-langchain/nodes/mcp/McpClientTool of n8n-io/n8n, node version 1.1; the credential types
  // are httpHeaderAuth (name, value) and httpBearerAuth (token).
  test('n8n', async () => {
    const node = object(['name', 'type', 'typeVersion', 'position', 'parameters'], {
      name: TEXT,
      type: { const: '@n8n/n8n-nodes-langchain.mcpClientTool' },
      typeVersion: { const: 1.1 },
      position: { type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 2 },
      parameters: object(['endpointUrl', 'serverTransport', 'authentication'], {
        endpointUrl: URL_TEXT,
        serverTransport: { const: 'httpStreamable' },
        authentication: { enum: ['headerAuth', 'bearerAuth'] },
        options: object([], { timeout: { type: 'integer', minimum: 1 } }),
      }),
    });
    const workflow = object(['nodes', 'connections'], {
      nodes: { type: 'array', items: node, minItems: 1 },
      connections: { type: 'object' },
    });
    matching(workflow, JSON.parse(snippet('n8n', 'json')));
    const [, header = ''] = /Header Auth with the name `([^`]+)`/.exec(guides[0]?.text ?? '') ?? [];
    expect(await listed({ [header]: 'KEY' }, 'KEY')).toMatchObject(BOTH_TOOLS);
  });

  // README of langchain-ai/langchain-mcp-adapters and https://docs.langchain.com/oss/javascript/langchain/mcp;
  // docs/mcp.md of openai/openai-agents-python and docs/src/content/docs/guides/mcp.mdx of openai/openai-agents-js.
  test.skipIf(missing.includes('python3')).each([
    ['LangChain', 'langchain_mcp_adapters.client', 'f"Bearer {os.environ[\'SVC_API_KEY\']}"'],
    ['OpenAI Agents SDK', 'agents.mcp', 'f"Bearer {os.environ[\'SVC_API_KEY\']}"'],
  ])('%s, Python', async (section, module, value) => {
    const program = snippet(section, 'python');
    const parsed = await runProcess('python3', ['-c', 'import ast, sys; ast.parse(sys.argv[1])', program]);
    expect(parsed).toMatchObject({ code: 0, stderr: '' });
    expect(program).toContain(`from ${module} import `);
    expect(program).toContain(`"url": "${URL_OF_GUIDE}",`);
    expect(program).toContain(`"headers": {"Authorization": ${value}},`);
  });

  test.each([
    ['LangChain', '@langchain/mcp-adapters', 'headers: {'],
    ['OpenAI Agents SDK', '@openai/agents', 'requestInit: { headers: {'],
  ])('%s, JavaScript', (section, module, headers) => {
    const program = snippet(section, 'ts');
    const { diagnostics } = ts.transpileModule(program, { reportDiagnostics: true });
    expect(diagnostics).toEqual([]);
    expect(program).toContain(`from '${module}';`);
    expect(program).toContain(`url: '${URL_OF_GUIDE}',`);
    expect(program).toContain(`${headers} Authorization: \`Bearer \${process.env.SVC_API_KEY}\` }`);
  });

  test('every URL of the gateway in every snippet is the endpoint', () => {
    const urls = blocks.flatMap(({ text }) => text.match(/https?:\/\/[^\s"'`\\]+/g) ?? []);
    expect(urls.length).toBeGreaterThan(12);
    expect(new Set(urls)).toEqual(new Set([URL_OF_GUIDE]));
  });

  test('every client has a section, and every section was checked against something', () => {
    const sections = guides.flatMap(({ text }) => [...text.matchAll(/^## (.+)$/gm)].map(([, name]) => name));
    const clients = sections.filter((name) => name !== undefined && !NOT_A_CLIENT.has(name));
    const rows = guides.flatMap(({ text }) => text.split('## Checked against')[1]?.split('\n') ?? []);
    const checked = new Set(rows.map((row) => row.split('|')[1]?.trim()));
    expect(clients).toHaveLength(10);
    expect(clients.filter((name) => !checked.has(name))).toEqual([]);
  });
});

describe.skipIf(missing.includes('curl'))('the curl lines', () => {
  const run = async (index: number): Promise<unknown> => {
    const script = snippet('Any other client', 'sh', index);
    const { code, stdout, stderr } = await runProcess(
      '/bin/sh',
      ['-c', script.replace(URL_OF_GUIDE, `${service.url}/mcp`)],
      { env: { SVC_API_KEY: apiKey() } },
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  };

  test('list the tools in both eras', async () => {
    expect(await run(0)).toMatchObject({ id: 1, result: { tools: [{ name: 'find_book' }] } });
    expect(await run(2)).toMatchObject({
      id: 1,
      result: { tools: [{ name: 'find_book' }], resultType: 'complete' },
    });
  });

  test('call a tool in both eras, with the answer that is shown', async () => {
    const shown: { readonly result: object } = JSON.parse(snippet('Any other client', 'json'));
    expect(await run(1)).toEqual(shown);
    expect(await run(3)).toEqual({
      ...shown,
      result: { ...shown.result, resultType: 'complete', _meta: expect.any(Object) },
    });
  });
});

/** What the table of symptoms says is seen. */
describe('checking a connection', () => {
  const post = async (
    body: string,
    options: {
      readonly key?: string | null;
      readonly headers?: Record<string, string>;
      readonly path?: string;
    } = {},
  ): Promise<unknown> => {
    const { key = 'all', headers = {}, path = '/mcp' } = options;
    const answer = await ask(`${service.url}${path}`, {
      method: 'POST',
      body,
      headers,
      apiKey: key === null ? undefined : (service.apiKeys[key] ?? key),
    });
    const challenge = answer.headers.get('www-authenticate');
    return { status: answer.status, json: answer.json, ...(challenge === null ? {} : { challenge }) };
  };
  const LIST = RPC('tools/list');
  const call = (name: string, params: object): string => RPC('tools/call', { name, arguments: params });
  const refused = (status: number, code: string): object => ({ status, json: { error: { code } } });

  test('refusals before the message is read', async () => {
    const { api_key } = await createKey('stranger', '*');
    expect(await post(LIST, { key: null })).toMatchObject({
      ...refused(401, 'GATEWAY_UNAUTHORIZED'),
      challenge: 'Bearer',
    });
    expect(await post(LIST, { key: api_key })).toMatchObject(refused(401, 'GATEWAY_UNAUTHORIZED'));
    expect(await post(LIST, { headers: { 'x-api-key': apiKey() } })).toMatchObject(
      refused(400, 'GATEWAY_INVALID_REQUEST'),
    );
    expect(await post(LIST, { headers: { 'content-type': 'text/plain' } })).toMatchObject(
      refused(400, 'GATEWAY_INVALID_REQUEST'),
    );
    expect(await post(LIST, { headers: { origin: 'https://app.example.com' } })).toMatchObject(
      refused(403, 'GATEWAY_ORIGIN_NOT_ALLOWED'),
    );
    for (const path of ['/sse', '/.well-known/oauth-protected-resource', '/register']) {
      expect(await post(LIST, { path })).toMatchObject(refused(404, 'GATEWAY_NOT_FOUND'));
    }
    const stream = await ask(`${service.url}/mcp`, {
      headers: { accept: 'text/event-stream' },
      apiKey: apiKey(),
    });
    expect([stream.status, stream.headers.get('allow')]).toEqual([405, 'POST']);
  });

  test('answers to a message', async () => {
    const inBand = (error: object): object => ({ status: 200, json: { id: 1, error } });
    expect(await post(call('find_boook', {}))).toMatchObject(
      inBand({ code: -32_602, message: 'unknown tool: find_boook' }),
    );
    expect(await post(call('find_book', {}), { key: 'nothing' })).toMatchObject(
      inBand({ code: -32_602, message: 'unknown tool: find_book' }),
    );
    expect(await post(LIST, { headers: { 'mcp-protocol-version': '2030-01-01' } })).toMatchObject({
      status: 400,
      json: { error: { code: -32_022, data: { supported: expect.arrayContaining(['2025-11-25']) } } },
    });
    expect(await post(call('find_book', { name: 'Orlando' }))).toMatchObject({
      status: 200,
      json: { result: { isError: true, content: [{ text: expect.stringContaining('name') }] } },
    });
    const cut = { structuredContent: { rows: [{ id: 7 }], truncated: true } };
    expect(await post(call('find_book', {}))).toMatchObject({ status: 200, json: { result: cut } });
    for (const key of ['nothing', 'hidden_only']) {
      expect(await post(LIST, { key })).toMatchObject({ status: 200, json: { result: { tools: [] } } });
    }
  });
});
