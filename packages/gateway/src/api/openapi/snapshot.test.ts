import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Description } from '@svc/protocol';
import { runProcess, smallDisk } from '@svc/testkit';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createCatalog, type Catalog } from '../../catalog/catalog.ts';
import { offering } from '../../catalog/offer.testing.ts';
import type { GatewayEvent } from '../../telemetry/events.ts';
import { createSnapshotWriter, keepSnapshot } from './snapshot.ts';

let folder: string;
let catalog: Catalog;
let events: GatewayEvent[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-tmp-snapshot-'));
  events = [];
  catalog = createCatalog(() => {});
  keep('https://gateway.example', folder);
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function keep(publicUrl: string | undefined, into: string): void {
  const write = createSnapshotWriter(into, (event) => events.push(event));
  keepSnapshot({ id: 'default', catalog, described: () => ({ publicUrl, issuers: [] }) }, write);
}

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
  expect(JSON.parse(await readFile(join(folder, 'openapi.json'), 'utf8'))).toMatchObject({
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
  await mkdir(folder);
  catalog.add(offering(describing('second')));
  await expect.poll(title, { interval: 2 }).toBe('second');
});

test('on a full disk the old file stays whole, and nothing else is left', async ({ skip }) => {
  const disk = await smallDisk();
  if (typeof disk === 'string') return skip(disk);
  keep(undefined, disk.path);
  const names = () => readdir(disk.path);
  try {
    catalog.add(offering(describing('small')));
    await expect.poll(names, { interval: 2 }).toEqual(['openapi.json']);
    await disk.fill(16 * 1024);
    catalog.add(offering(describing('x'.repeat(100_000))));
    await expect
      .poll(() => events, { interval: 2 })
      .toEqual([{ event: 'config_warning', message: expect.stringContaining('ENOSPC') }]);
    expect((await names()).toSorted()).toEqual(['filler', 'openapi.json']);
    expect(JSON.parse(await readFile(join(disk.path, 'openapi.json'), 'utf8')).info.title).toBe('small');
  } finally {
    await disk.remove();
  }
});

test('a file that a killed gateway left half written is removed with the next; one that may be in use stays', async () => {
  const { stdout } = await runProcess('sh', ['-c', 'echo $$']);
  const kept = [
    `openapi.json.${process.ppid}.tmp`,
    'openapi.json.1x.tmp',
    'openapi.json.12345678.tmp',
    'my.tmp',
  ];
  for (const name of [...kept, `openapi.json.${stdout.trim()}.tmp`]) await writeFile(join(folder, name), '{');
  catalog.add(offering(describing('next')));
  await expect.poll(title, { interval: 2 }).toBe('next');
  expect((await readdir(folder)).toSorted()).toEqual(['openapi.json', ...kept].toSorted());
});
