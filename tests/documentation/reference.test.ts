import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AGENT_ERROR_CODES, CALL_ERRORS, CLOSE } from '@svc/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PARAM_TYPES } from '../../packages/agent/src/capabilities/model.ts';
import type { AgentEvent } from '../../packages/agent/src/telemetry/events.ts';
import { driverOf } from '../../packages/agent/src/databases/drivers.ts';
import { createLog as createAgentLog } from '../../packages/agent/src/telemetry/log.ts';
import { compileValue } from '../../packages/agent/src/capabilities/values/value-check.ts';
import { loadConfig } from '../../packages/gateway/src/config/load.ts';
import { createProtectedResource } from '../../packages/gateway/src/api/protected-resource.ts';
import { SETTINGS, type SettingText } from '../../packages/gateway/src/config/settings.ts';
import { REFUSED } from './refused-settings.ts';
import { createCallerPages } from '../../packages/gateway/src/console/caller-pages.ts';
import { createFindRoute, FIXED_ROUTES } from '../../packages/gateway/src/http/routes.ts';
import type { GatewayEvent } from '../../packages/gateway/src/telemetry/events.ts';
import { createLog as createGatewayLog } from '../../packages/gateway/src/telemetry/log.ts';
import { AGENT_RECORDS } from '../../scripts/docs/agent-records.ts';
import { FILE_FIELDS } from '../../scripts/docs/capability-file.ts';
import { ERROR_CODES } from '../../scripts/docs/errors.ts';
import { GATEWAY_RECORDS } from '../../scripts/docs/gateway-records.ts';
import { exampleEvents } from '../../scripts/docs/log-record.ts';
import { generatedParts, replacePart } from '../../scripts/docs/markdown.ts';
import { AGENT_METRICS, GATEWAY_METRICS } from '../../scripts/docs/metrics.ts';
import { PARTS } from '../../scripts/docs/parts.ts';
import { exampleOf } from '../../scripts/docs/settings.ts';
import { EXAMPLE_ITEMS, PARAM_TYPE_DOCS } from '../../scripts/docs/values.ts';
import { CERTIFICATE, CERTIFICATE_KEY } from './certificate.ts';
import { readDocument, readDocuments } from './documents.ts';

/** Run `node scripts/docs.mjs` when these fail. */
describe.each(Object.entries(PARTS))('%s', (path, parts) => {
  const { text } = readDocument(path);

  test('has the parts that are made from the code', () => {
    expect(generatedParts(text).toSorted()).toEqual(Object.keys(parts).toSorted());
  });

  test.each(Object.entries(parts))('%s is what the code says', (name, render) => {
    expect(text === replacePart(text, name, render()) || 'out of date: run node scripts/docs.mjs').toBe(true);
  });
});

describe('settings', () => {
  const examples = Object.fromEntries(
    Object.entries<SettingText>(SETTINGS).map(([name, setting]) => [name, exampleOf(setting)]),
  );
  const readPem = (path: string): string => {
    if (path.startsWith('/etc/svc/tls/')) return path.includes('key') ? CERTIFICATE_KEY : CERTIFICATE;
    if (path === SETTINGS.GATEWAY_VALKEY_PASSWORD_FILE.example) return 'secret\n';
    if (path === SETTINGS.GATEWAY_SERVICES_FILE.example) return '{"services": []}';
    if (path === SETTINGS.GATEWAY_TRACES_HEADERS_FILE.example) return 'Authorization: Bearer secret\n';
    throw new Error('no such file');
  };
  const load = (env: Readonly<Record<string, string | undefined>>): ReturnType<typeof loadConfig> =>
    loadConfig(env, readPem);
  const least = {
    GATEWAY_AGENT_PUBLIC_KEY: examples['GATEWAY_AGENT_PUBLIC_KEY'],
    GATEWAY_API_KEYS_JSON: examples['GATEWAY_API_KEYS_JSON'],
  };

  test('all examples together are one sound environment', () => {
    expect(load(examples)).toMatchObject({ warnings: [] });
    expect(load(examples)).not.toHaveProperty('faults');
  });

  test.each(Object.entries<SettingText>(SETTINGS))(
    '%s: what its absence means, and what is refused',
    (name, { absent }) => {
      const without = load({ ...least, [name]: undefined });
      if (absent === 'required') {
        expect(without).toMatchObject({ faults: [{ setting: name }] });
      } else {
        expect(without).toHaveProperty('config');
        if ('value' in absent) expect(load({ ...least, [name]: absent.value })).toEqual(without);
      }
      for (const value of new Map(Object.entries(REFUSED)).get(name) ?? []) {
        const { faults } = { faults: [], ...load({ ...examples, [name]: value }) };
        expect(faults.map(({ setting }) => setting)).toContain(name);
      }
    },
  );
});

test('the capability file has every key of its schema, once', () => {
  const { text } = readDocument('docs/reference/capability-file.md');
  expect(FILE_FIELDS.length).toBeGreaterThan(60);
  const missing = FILE_FIELDS.filter(({ path }) => text.split(`| \`${path}\` `).length !== 2);
  expect(missing.map(({ path }) => path)).toEqual([]);
});

test.each(PARAM_TYPES)('values of the type %s are taken and refused as documented', (type) => {
  const check = compileValue(type === 'array' ? { type, items: EXAMPLE_ITEMS } : { type });
  const { takes, refuses } = PARAM_TYPE_DOCS[type];
  expect(takes.map((value) => [value, check(value).problems])).toEqual(takes.map((value) => [value, []]));
  expect(refuses.filter((value) => check(value).problems.length === 0)).toEqual([]);
});

describe.each([
  ['mariadb', 'docs/guides/mariadb-and-mysql.md'],
  ['mysql', 'docs/guides/mariadb-and-mysql.md'],
  ['sqlite', 'docs/guides/sqlite.md'],
  ['duckdb', 'docs/guides/duckdb.md'],
])('the guide of %s', (driver, path) => {
  test('has every key of its section, once, with what holds when it is absent', () => {
    const { properties, required } = driverOf(driver).section;
    const rows = readDocument(path).text.matchAll(
      /^\| `([a-z_]+)` +\| (\*\*required\*\*|`[^`]+`|none)? +\|/gm,
    );
    const absentOf = (key: string): string => {
      const byDefault: unknown = properties[key]?.['default'];
      if (required.includes(key)) return '**required**';
      if (byDefault === undefined) return 'none';
      return `\`${typeof byDefault === 'string' ? byDefault : JSON.stringify(byDefault)}\``;
    };
    const keys = Object.keys(properties);
    const written = [...rows].filter(([, key = '']) => keys.includes(key));
    const rowOf = (key: string, absent: string): string => `${key}: ${absent}`;
    expect(written.map(([, key = '', absent = 'none']) => rowOf(key, absent)).toSorted()).toEqual(
      keys.map((key) => rowOf(key, absentOf(key))).toSorted(),
    );
  });
});

describe('errors', () => {
  const { text } = readDocument('docs/reference/errors.md');

  test('every header that comes with a code is in the table of headers', () => {
    for (const code of ERROR_CODES) {
      const { headers = [] } = CALL_ERRORS[code];
      const row = text
        .split('\n')
        .find((line) => line.includes(`\`${code}\``) && !line.includes(`[\`${code}`));
      for (const name of headers.filter((_, at) => at % 2 === 0))
        expect([code, row]).toEqual([code, expect.stringContaining(name)]);
    }
  });

  test('troubleshooting has every code with its status, how to check the cause and how to fix it', () => {
    const pages = ['troubleshooting', 'troubleshooting-agent', 'troubleshooting-start'];
    const guide = pages.map((name) => readDocument(`docs/guides/${name}.md`).text).join('\n');
    for (const code of ERROR_CODES) {
      const section = guide.split(`\n### ${code}\n`)[1]?.split('\n### ')[0] ?? '';
      const { status } = CALL_ERRORS[code];
      expect([code, section]).toEqual([
        code,
        expect.stringMatching(new RegExp(String.raw`^\n- \*\*Symptom:\*\* ${status}\b`)),
      ]);
      for (const part of ['**Check:**', '**Fix:**']) {
        expect([code, section]).toEqual([code, expect.stringContaining(part)]);
      }
    }
    const headings = [...guide.matchAll(/^### ((?:GATEWAY|AGENT)_\w+)$/gm)].map(([, name]) => name);
    expect(new Set(headings)).toEqual(new Set(ERROR_CODES));
    for (const code of Object.values(CLOSE)) expect(guide).toContain(String(code));
  });

  test('codes of the link are all there', () => {
    for (const code of AGENT_ERROR_CODES) expect(text).toContain(`\`${code}\``);
  });
});

describe('log records', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'svc-documentation-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const withoutTime = (line: string): string => line.replace(/"time":"[^"]*"/, '"time":""');
  const documented = new Set(
    readDocument('docs/reference/logs.md').blocks.map((block) => withoutTime(block.text.trim())),
  );

  test('the gateway writes each example as documented', async () => {
    const file = join(folder, 'gateway');
    const log = createGatewayLog({
      level: 'debug',
      probes: true,
      destination: openSync(file, 'w'),
      standardError: { write: () => {} },
    });
    for (const example of exampleEvents<GatewayEvent>(GATEWAY_RECORDS)) log.observe(example);
    await log.close();
    expect(undocumented(file, Object.keys(GATEWAY_RECORDS))).toEqual([]);
  });

  test('the agent writes each example as documented, and says which are on standard error', async () => {
    const file = join(folder, 'agent');
    let said = '';
    const log = createAgentLog({
      destination: { file, maxSizeBytes: 1_000_000, maxFiles: 1 },
      standardError: { write: (line: string) => (said += line) },
    });
    const spoken: string[] = [];
    for (const example of exampleEvents<AgentEvent>(AGENT_RECORDS)) {
      said = '';
      log.observe(example);
      if (said !== '') spoken.push(example.event);
    }
    await log.close();
    expect(undocumented(file, Object.keys(AGENT_RECORDS))).toEqual([]);
    const claimed = Object.entries(AGENT_RECORDS).filter(([, { when }]) =>
      when.endsWith('Also on standard error.'),
    );
    expect(spoken).toEqual(claimed.map(([event]) => event));
  });

  /** Events without a line in the file, and lines that the page does not show. */
  function undocumented(file: string, events: readonly string[]): readonly string[] {
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n').map(withoutTime);
    return [
      ...events.filter((event) => !lines.some((line) => line.includes(`"event":"${event}"`))),
      ...lines.filter((line) => !documented.has(line)),
    ];
  }
});

test('HTTP has every path with its methods', () => {
  const { text } = readDocument('docs/reference/http.md');
  const rows = [...text.matchAll(/^\| `(\/[^`]*)` +\| `([A-Z, ]+)` /gm)].map(
    ([, path = '', methods]) => [path, methods] as const,
  );
  const { routes: further } = createProtectedResource('https://gateway.example', []);
  const call = createFindRoute()('/api/v1/capabilities/x');
  const page = createCallerPages('{"page":"","files":{}}', '').find('/console/');
  const routes = [...FIXED_ROUTES.values(), ...further.values(), page, call].filter(
    (route) => route !== undefined,
  );
  const inCode = routes.map(({ template, methods }) => [template, methods.join(', ')] as const);
  expect(new Map(rows)).toEqual(new Map(inCode));
});

test('every metric that a page speaks of is there', () => {
  const known = new Set(
    [...GATEWAY_METRICS, ...AGENT_METRICS].flatMap(({ name, type }) =>
      type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
  const named = readDocuments().flatMap(({ text }) => text.match(/\bsvc_(?:gateway|agent)_\w+/g) ?? []);
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});
