import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProcess, SVC_AGENT, temporaryFolder, type TemporaryFolder } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseCommandLine } from '@svc/edge';
import { PROGRAM as AGENT } from '../../packages/agent/src/cli/program.ts';
import { parseArguments as parseGatewayArguments } from '../../packages/gateway/src/cli/arguments.ts';
import { readEnvFile } from '../../packages/gateway/src/config/env-file.ts';
import { loadConfig } from '../../packages/gateway/src/config/load.ts';
import { SETTINGS } from '../../packages/gateway/src/config/settings.ts';
import { CERTIFICATE, CERTIFICATE_KEY } from './certificate.ts';
import { readDocuments, type Block } from './documents.ts';

/** What each kind of example is proved by: here, or in the test of that name beside this one. */
const PROVED: Readonly<Record<string, string>> = {
  'ini pgbouncer': 'deploy.test.ts',
  'ini drop-in': 'deploy.test.ts',
  nginx: 'deploy.test.ts',
  caddyfile: 'deploy.test.ts',
  haproxy: 'deploy.test.ts',
  redis: '../fleet/valkey/faults.test.ts',
  sql: 'first-capability-file.test.ts',
  'sql tenants': 'tenants.test.ts',
  'json issuers': 'issuers.test.ts',
  'json token': 'issuers.test.ts',
  'yaml workflow': 'issuers.test.ts',
  'yaml manifest': 'issuers.test.ts',
  'yaml prometheus': '../ops/programs/prometheus.test.ts',
  'js make-token.mjs': 'tokens.test.ts',
  'toml sign-in': 'connect-ai-clients.test.ts',
  'json sign-in': 'connect-ai-clients.test.ts',
  'sh sign-in': 'connect-ai-clients.test.ts',
  'ts client': '../clients/guide.test.ts',
  'python client': '../clients/guide.test.ts',
  jsonl: 'reference.test.ts',
  python: 'mcp-clients.test.ts',
  toml: 'mcp-clients.test.ts',
  ts: 'mcp-clients.test.ts',
  text: 'by nothing: an output',
};
const HERE = new Set(['yaml', 'yaml complete', 'sh', 'json', 'ini']);

const blocks = readDocuments().flatMap((document) => document.blocks);
const kindOf = ({ language, mark }: Block): string => `${language} ${mark}`.trim();
const named = (...kinds: readonly string[]): readonly (readonly [string, string])[] =>
  blocks.filter((block) => kinds.includes(kindOf(block))).map(({ at, text }) => [at, text] as const);

test('every example is of a kind that some test looks at', () => {
  const unknown = blocks.filter((block) => !(kindOf(block) in PROVED) && !HERE.has(kindOf(block)));
  // The drawing in the README.
  expect(unknown.map(({ at }) => at).filter((at) => !at.startsWith('README.md'))).toEqual([]);
});

/** In front of an example that shows one part of a file only. */
const PARTS: Readonly<Record<string, string>> = {
  gateway: 'gateway: { url: wss://gateway.example.com/ws/agent, agent_private_key_file: agent-key }\n',
  database: 'database: { host: db.internal, name: shop, user: svc_reader, password_file: db-password }\n',
  capabilities: 'capabilities: {}\n',
};

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder('documentation');
  await writeFile(join(folder.path, 'agent-key'), 'rZBuX-AEx_xum6pA9iB6YyZszwz7j5OQX8XyDmOnhTo\n');
  await writeFile(join(folder.path, 'db-password'), 'x\n');
});
afterAll(() => folder.remove());

test.each(named('yaml', 'yaml complete'))('the YAML at %s passes svc-agent check', async (at, text) => {
  const home = join(folder.path, at.replaceAll(/\W/g, '-'));
  await mkdir(home);
  const whole = blocks.some((block) => block.at === at && block.mark === 'complete');
  const has = (key: string): boolean => new RegExp(`^${key}:`, 'm').test(text);
  const missing = Object.entries(PARTS).filter(
    ([key]) => !has(key) && !(key === 'database' && has('databases')),
  );
  expect(whole ? missing : []).toEqual([]);
  const file = `${missing.map(([, part]) => part).join('')}${text}`.replaceAll(
    /(_file: )(?:\/\S*\/)?([\w-]+)/g,
    (_, key: string, name: string) => `${key}../${name}`,
  );
  await writeFile(join(home, 'capability.yaml'), file);
  const key = 'rZBuX-AEx_xum6pA9iB6YyZszwz7j5OQX8XyDmOnhTo';
  const { code, stdout } = await runProcess(
    SVC_AGENT,
    ['check', '--offline', '--config', join(home, 'capability.yaml')],
    { env: { SVC_AGENT_PRIVATE_KEY: key } },
  );
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('well formed') });
});

test.each(named('json'))('the JSON at %s is well formed', (_, text) => {
  expect(JSON.parse(text)).toBeTypeOf('object');
});

test.each(named('ini'))('the settings at %s are accepted', (_, text) => {
  const file = readEnvFile(text);
  const required = {
    GATEWAY_AGENT_PUBLIC_KEY: SETTINGS.GATEWAY_AGENT_PUBLIC_KEY.example,
    GATEWAY_API_KEYS_JSON: SETTINGS.GATEWAY_API_KEYS_JSON.example,
  };
  const values = 'values' in file ? file.values : {};
  const { GATEWAY_API_KEYS_JSON: records, ...requiredBesideFile } = required;
  const readText = (path: string): string => {
    if (path.includes('password')) return 'secret';
    if (path.includes('headers')) return 'Authorization: Bearer secret\n';
    if (path.endsWith('api-keys.json')) return records;
    if (path.endsWith('.json')) return '{"services": []}';
    return path.includes('key') ? CERTIFICATE_KEY : CERTIFICATE;
  };
  expect(Object.keys(values).length).toBeGreaterThan(1);
  const others = 'GATEWAY_API_KEYS_FILE' in values ? requiredBesideFile : required;
  expect(loadConfig({ ...others, ...values }, readText)).toMatchObject({ warnings: [], config: {} });
});

/** The commands of ours in a script, each as its arguments. */
function commandsIn(script: string): readonly (readonly [string, readonly string[]])[] {
  return script
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .flatMap((line) => {
      const match = /^(?:dist\/)?(svc-gateway|svc-agent)\b ?([^>#|]*)/.exec(line.trim());
      if (match === null) return [];
      const words = [...(match[2] ?? '').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)];
      return [[match[1] ?? '', words.map(([, a, b, c]) => a ?? b ?? c ?? '')] as const];
    });
}

/** The same in text: `svc-agent check --offline`. Placeholders like <name> and ... are left out. */
const inline = readDocuments().flatMap((document) =>
  [...document.text.matchAll(/`((?:dist\/)?svc-(?:gateway|agent) [^`\n]+)`/g)].map(
    ([, text = '']) => [document.path, text] as const,
  ),
);

test.each([...named('sh'), ...inline])('the commands at %s exist: %j', (_, script) => {
  const wrong = commandsIn(script).filter(([program, words]) => {
    // A mention of the command alone is no call of it.
    const mentioned =
      words.length === 1 && /^(?:(?:create|revoke)-key|completion|diff|add|try)$/.test(words[0] ?? '');
    if (mentioned) return false;
    return program === 'svc-gateway'
      ? parseGatewayArguments(words).command === 'wrong-usage'
      : parseCommandLine(AGENT, words).kind === 'usage_error';
  });
  expect(wrong).toEqual([]);
});

test.each(named('sh'))('the script at %s is one that a shell can read', async (_, script) => {
  const { code, stderr } = await runProcess('/bin/sh', ['-n', '-c', script]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test('the npm scripts that examples run exist', async () => {
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8'));
  const ran = named('sh').flatMap(([, script]) => [...script.matchAll(/\bnpm run ([\w:-]+)/g)]);
  expect(ran.length).toBeGreaterThan(4);
  expect(ran.map(([, name]) => name).filter((name) => !(String(name) in scripts))).toEqual([]);
});
