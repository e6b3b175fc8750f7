import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SETTINGS } from '../../packages/gateway/src/config/settings.ts';
import { ROOT } from '../documentation/documents.ts';

test('every setting that is given to a gateway is one', () => {
  const folder = join(ROOT, 'deploy');
  const files = [
    ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    join(ROOT, 'docs/guides/several-gateways.md'),
  ].filter((path) => !path.includes('secrets') && statSync(path).isFile());
  const named = files.flatMap(
    (path) => readFileSync(path, 'utf8').match(/(?<![A-Z_])GATEWAY_[A-Z_]*[A-Z]/g) ?? [],
  );
  const known: readonly string[] = SETTINGS;
  // What Kubernetes would set for a Service named gateway; a comment says so.
  const unknown = named.filter((name) => !known.includes(name) && name !== 'GATEWAY_PORT');
  expect(named.length).toBeGreaterThan(50);
  expect([...new Set(unknown)]).toEqual([]);
});
