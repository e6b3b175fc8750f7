import { expect, test } from 'vitest';
import { readDocument, type Block } from './documents.ts';

/** Each snippet has the format that its client documents; the last section of the guide says where. */
const guide = readDocument('docs/guides/connect-ai-clients.md');
const lines = guide.text.split('\n');
const URL_OF_GUIDE = 'https://gateway.example.com/mcp';
const CLIENT_ID = '22223333-made-up';

function sectionOf({ at }: Block): string {
  const above = lines.slice(0, Number(at.split(':').at(-1))).filter((line) => line.startsWith('### '));
  return above.at(-1)?.slice('### '.length) ?? '';
}

function snippet(section: string, language: string): string {
  const found = guide.blocks.find(
    (block) => block.mark === 'sign-in' && block.language === language && sectionOf(block) === section,
  );
  if (found === undefined) throw new Error(`the guide has no ${language} under ${section}`);
  return found.text.trim();
}

const remote = { url: URL_OF_GUIDE };
test.each([
  [
    'Claude Code',
    {
      mcpServers: {
        library: {
          ...remote,
          type: 'http',
          oauth: { clientId: CLIENT_ID, callbackPort: 8765, scopes: 'library.read' },
        },
      },
    },
  ],
  ['VS Code', { servers: { library: { ...remote, type: 'http', oauth: { clientId: CLIENT_ID } } } }],
  ['Cursor', { mcpServers: { library: { ...remote, auth: { CLIENT_ID, scopes: ['library.read'] } } } }],
  [
    'Gemini CLI',
    {
      mcpServers: {
        library: {
          httpUrl: URL_OF_GUIDE,
          oauth: {
            enabled: true,
            clientId: CLIENT_ID,
            scopes: ['library.read'],
            redirectUri: 'http://localhost:7777/oauth/callback',
          },
        },
      },
    },
  ],
])('%s', (section, format) => {
  expect(JSON.parse(snippet(section, 'json'))).toEqual(format);
});

test('mcp-remote', () => {
  const { args } = JSON.parse(snippet('mcp-remote', 'json')).mcpServers.library;
  const flags = ['--transport', 'http-only', '--static-oauth-client-info'];
  expect(args.slice(0, -1)).toEqual(['-y', 'mcp-remote', URL_OF_GUIDE, '9696', ...flags]);
  expect(JSON.parse(args.at(-1))).toEqual({ client_id: CLIENT_ID });
  // Some clients break arguments with a space apart.
  expect(args.join('')).not.toContain(' ');
});

test('OpenAI Codex', () => {
  expect(snippet('OpenAI Codex', 'toml').split('\n')).toEqual([
    '[mcp_servers.library]',
    `url = "${URL_OF_GUIDE}"`,
    '',
    '[mcp_servers.library.oauth]',
    `client_id = "${CLIENT_ID}"`,
  ]);
  expect(snippet('OpenAI Codex', 'sh').split('\n')).toEqual([
    `codex mcp add library --url ${URL_OF_GUIDE} --oauth-client-id ${CLIENT_ID}`,
    'codex mcp login library --scopes library.read',
  ]);
});

test('Claude Code, command: options, then name, then URL', () => {
  expect(snippet('Claude Code', 'sh')).toBe(
    `claude mcp add --transport http --client-id ${CLIENT_ID} --callback-port 8765 library ${URL_OF_GUIDE}`,
  );
});

test('the redirect URIs have the ports of the snippets', () => {
  const table = guide.text.split('## Redirect URIs')[1]?.split('\n## ')[0] ?? '';
  for (const port of [8765, 7777, 9696]) expect(table).toContain(`http://localhost:${port}/`);
});

test('every client of the table has a section, a redirect URI and a source', () => {
  const [, clients = '', sources = ''] =
    /## The clients\n([\s\S]*)## Checked against\n([\s\S]*)/.exec(guide.text) ?? [];
  const sections = lines.filter((line) => line.startsWith('### ')).map((line) => line.slice('### '.length));
  expect(sections).toHaveLength(8);
  expect([...clients.matchAll(/^\| \[[^\]]+\]\(#/gm)]).toHaveLength(sections.length);
  const redirects = guide.text.split('## Redirect URIs')[1]?.split('\n## ')[0] ?? '';
  for (const name of sections) {
    expect([name, redirects]).toEqual([name, expect.stringContaining(`| ${name}`)]);
    expect([name, sources]).toEqual([name, expect.stringContaining(`| ${name} `)]);
  }
});
