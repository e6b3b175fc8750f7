import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SETTINGS } from '../../packages/gateway/src/config/settings.ts';
import { ERROR_CODES } from '../../scripts/docs/errors.ts';
import { readDocuments, readPolicies, ROOT } from './documents.ts';

/** What documents name has to exist: settings and codes, scripts of npm, files of the repository. */
const documents = [...readDocuments(), ...readPolicies()];

/** What `pattern` finds in each document and `exists` does not know, with the document. */
function unknown(pattern: RegExp, exists: (name: string) => boolean): readonly string[] {
  const named = documents.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map(([, name = '']) => ({ path, name })),
  );
  expect(named.length).toBeGreaterThan(10);
  return named.filter(({ name }) => !exists(name)).map(({ path, name }) => `${path}: ${name}`);
}

test('every setting and every code of the gateway', () => {
  const known = new Set<string>([...Object.keys(SETTINGS), ...ERROR_CODES]);
  // A name that ends with an underscore stands for all that begin with it.
  const exists = (name: string): boolean =>
    known.has(name) ||
    (name.endsWith('_') && Object.keys(SETTINGS).some((setting) => setting.startsWith(name)));
  // The misspelt setting of a warning.
  expect(unknown(/\b(GATEWAY_[A-Z0-9_]+)/g, exists)).toEqual(['docs/reference/logs.md: GATEWAY_ADRR']);
});

test('every script of npm', () => {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  );
  expect(unknown(/\bnpm run ([a-z][a-z:-]*)/g, (name) => name in scripts)).toEqual([]);
});

test('every file of the repository', () => {
  const pattern =
    /`((?:packages|tests|scripts|deploy|examples|ops|bench)\/[^`\s*{}]*\.(?:ts|mjs|md|yaml|json|service|sh|cfg|conf))`/g;
  expect(unknown(pattern, (name) => existsSync(join(ROOT, name)))).toEqual([]);
});
