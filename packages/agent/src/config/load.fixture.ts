import { createRawKeyPair, type RawKeyPair } from '@svc/protocol';
import { loadConfig } from './load.ts';

/** Base64url, as people paste them. */
export const testKey: RawKeyPair = createRawKeyPair();

/** A file with nothing but what is required. Sections can be replaced, or removed with an empty text. */
export function fileText(sections: Readonly<Record<string, string>> = {}): string {
  return Object.values({
    service: 'service: { title: Library, version: "1" }',
    gateway: `gateway: { url: "wss://gw.example.com/ws/agent", agent_private_key: ${testKey.seed} }`,
    database: 'database: { host: db, name: library, user: reader, password: pw }',
    capabilities: 'capabilities: { ping: { sql: SELECT 1 AS one, result: { one: { type: integer } } } }',
    ...sections,
  }).join('\n');
}

export function load(
  text: string,
  env: Readonly<Record<string, string>> = {},
  files: Readonly<Record<string, string>> = {},
): ReturnType<typeof loadConfig> {
  const readFile = (path: string): Uint8Array => {
    const content = path === '/etc/svc/capability.yaml' ? text : files[path];
    if (content === undefined) throw Object.assign(new Error(path), { code: 'ENOENT' });
    return new TextEncoder().encode(content);
  };
  return loadConfig({ path: '/etc/svc/capability.yaml', env, readFile });
}

/** One line per fault, `line:column path: message`. */
export function faultLines(loaded: ReturnType<typeof loadConfig>): readonly string[] {
  if (!('faults' in loaded)) return [];
  return loaded.faults.map(({ path, message, position }) => {
    const place = position === undefined ? '' : `${position.line}:${position.column} `;
    return `${place}${path}: ${message}`;
  });
}

/** A file whose one capability has this one parameter. */
export function fileWithParam(spec: string): string {
  return fileText({
    capabilities: [
      'capabilities:',
      '  ping:',
      '    sql: SELECT 1 AS one',
      `    params: { p: ${spec} }`,
      '    result: { one: { type: integer } }',
    ].join('\n'),
  });
}
