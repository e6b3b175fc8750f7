import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Description } from '@svc/protocol';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createCatalog, type Catalog } from '../catalog/catalog.ts';
import { offering } from '../catalog/offer.testing.ts';
import type { GatewayEvent } from '../observe/event.ts';
import { keepSnapshot } from './snapshot.ts';

const home = process.cwd();
let folder: string;
let catalog: Catalog;
let events: GatewayEvent[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-tmp-snapshot-'));
  process.chdir(folder);
  events = [];
  catalog = createCatalog(() => {});
  keepSnapshot(catalog, 'https://gateway.example', (event) => events.push(event));
});
afterEach(async () => {
  process.chdir(home);
  await rm(folder, { recursive: true, force: true });
});

function describing(title: string): Description {
  return { openapi: { openapi: '3.1.0', info: { title, version: '1' }, paths: {} }, manifest: [] };
}

async function title(): Promise<unknown> {
  const text = await readFile(join(folder, 'openapi.json'), 'utf8').catch(() => '{}');
  // Whenever one looks, it is a whole document.
  return JSON.parse(text).info?.title;
}

test('every newly cached description is written, the last one stays, and nothing else is left', async () => {
  for (let version = 1; version <= 20; version++) catalog.add(offering(describing(`v${version}`)));
  await expect.poll(title, { interval: 2 }).toBe('v20');
  expect(await readdir(folder)).toEqual(['openapi.json']);
  expect(JSON.parse(await readFile('openapi.json', 'utf8'))).toMatchObject({
    servers: [{ url: 'https://gateway.example' }],
  });
  expect(events).toEqual([]);
});

test('a folder that cannot be written to is a warning, and the next description is tried again', async () => {
  await rm(folder, { recursive: true });
  catalog.add(offering(describing('first')));
  await expect
    .poll(() => events, { interval: 2 })
    .toEqual([{ event: 'config_warning', message: expect.stringContaining('cannot write openapi.json') }]);
  folder = await mkdtemp(join(tmpdir(), 'svc-tmp-snapshot-'));
  process.chdir(folder);
  catalog.add(offering(describing('second')));
  await expect.poll(title, { interval: 2 }).toBe('second');
});
