import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProcess, temporaryFolder } from '@svc/testkit';
import { expect, test } from 'vitest';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

interface Cruised {
  readonly summary: {
    readonly violations: readonly { readonly from: string; readonly rule: { readonly name: string } }[];
  };
}

/** A small repository, in which each kind of rule is broken once. */
const FILES: Readonly<Record<string, string>> = {
  'protocol/src/index.ts': `export const shared = 1;`,
  'edge/src/index.ts': `export { shared } from '../../protocol/src/index.ts';`,
  'gateway/src/main.ts': `import '../../agent/src/main.ts'; import './http/allowed.ts'; import './app.test.ts';`,
  'gateway/src/app.test.ts': `import './api/rest/call.ts';`,
  'gateway/src/core/call-error.ts': `export type CallError = 1;`,
  'gateway/src/api/rest/call.ts': `export type Call = 1;`,
  'gateway/src/http/allowed.ts': `import type { CallError } from '../core/call-error.ts'; export type A = CallError;`,
  'gateway/src/http/type-only.ts': `import type { Call } from '../api/rest/call.ts'; export type A = Call;`,
  'gateway/src/http/later.ts': `export const later = () => import('../api/rest/call.ts');`,
  'gateway/src/http/library.ts': `import { parse } from 'yaml'; export { parse };`,
  'gateway/src/auth/api-keys/key-record.ts': `export type KeyRecord = 1;`,
  'gateway/src/auth/principal.ts': `import type { KeyRecord } from './api-keys/key-record.ts'; export type P = KeyRecord;`,
  'gateway/src/calls/record.ts': `import type { KeyRecord } from '../auth/api-keys/key-record.ts'; export type R = KeyRecord;`,
  'gateway/src/http/lost.ts': `import './nowhere.ts';`,
  'agent/src/main.ts': `export {};`,
  'agent/src/config/yaml/read.ts': `import { parse } from 'yaml'; export { parse };`,
  'agent/src/gateway-link/egg.ts': `import type { Hen } from './hen.ts'; export type Egg = Hen;`,
  'agent/src/gateway-link/hen.ts': `import type { Egg } from './egg.ts'; export type Hen = Egg;`,
  'agent/src/gateway-link/back-off.ts': `import { read } from './reader.ts'; export { read };`,
  'agent/src/gateway-link/reader.ts': `import { readFileSync } from 'node:fs'; export const read = readFileSync;`,
  'agent/src/gateway-link/handshake.ts': `import { sign } from 'node:crypto'; export { sign };`,
  'agent/src/attic/box.ts': `import '../main.ts';`,
};

test('each import rule refuses what it is for, and nothing else', async () => {
  const folder = await temporaryFolder('imports');
  await symlink(join(root, 'node_modules'), join(folder.path, 'node_modules'));
  for (const [name, text] of Object.entries(FILES)) {
    const file = join(folder.path, 'packages', name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  const tool = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const rules = join(root, '.dependency-cruiser.mjs');
  const { stdout } = await runProcess(
    process.execPath,
    [tool, '--config', rules, '--output-type', 'json', 'packages'],
    { cwd: folder.path },
  );
  await folder.remove();
  const { summary }: Cruised = JSON.parse(stdout);
  const found = summary.violations.map(({ rule, from }) => `${rule.name}: ${from.replace('packages/', '')}`);
  expect([...new Set(found)].toSorted()).toEqual([
    'key-records: gateway/src/calls/record.ts',
    'library:yaml: gateway/src/http/library.ts',
    'no-circle: agent/src/gateway-link/egg.ts',
    'no-test-code: gateway/src/main.ts',
    'own-program: gateway/src/main.ts',
    'pure: agent/src/gateway-link/back-off.ts',
    'resolvable: gateway/src/http/lost.ts',
    'room-unknown: agent/src/attic/box.ts',
    'room:gateway/http: gateway/src/http/later.ts',
    'room:gateway/http: gateway/src/http/type-only.ts',
    'shared-packages: edge/src/index.ts',
  ]);
});
