import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileWatch } from '@svc/edge';
import { temporaryFolder, type TemporaryFolder } from '@svc/testkit';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fileDigest, unreadableDigest } from '../start-up/file-digest.ts';
import type { FileDigests } from '../start-up/report.ts';
import { watchFiles } from './watch-files.ts';

let folder: TemporaryFolder;
let watch: FileWatch | undefined;
let checked: FileDigests;
let changes: number;
beforeEach(async () => {
  folder = await temporaryFolder('watch');
  changes = 0;
});
afterEach(async () => {
  watch?.close();
  await folder.remove();
});

const at = (name: string): string => join(folder.path, name);
const missing = unreadableDigest(Object.assign(new Error(), { code: 'ENOENT' }));

function start(digests: FileDigests, onChange: () => void, settleMs = 20): void {
  checked = digests;
  watch = watchFiles({
    checked: () => checked,
    async onChange() {
      changes++;
      onChange();
    },
    intervalMs: 5,
    settleMs,
  });
}

test('a file that holds something else than when it was checked is told, however it came there, and once', async () => {
  await mkdir(at('a'));
  await mkdir(at('b'));
  await writeFile(at('a/file'), 'one');
  await writeFile(at('b/file'), 'two');
  await symlink('a', at('now'));
  const file = at('now/file');
  start({ [file]: fileDigest(Buffer.from('one')) }, () => {
    checked = { [file]: fileDigest(Buffer.from('two')) };
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(changes).toBe(0);
  await symlink('b', at('next'));
  await rename(at('next'), at('now'));
  await expect.poll(() => changes, { interval: 5 }).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(changes).toBe(1);
});

test('what is still being written is told when it is whole', async () => {
  const file = at('file');
  const whole = 'whole'.repeat(20);
  // On a busy machine a write may take far longer than usual.
  const settleMs = 300;
  const told = (): void => void (checked = { [file]: fileDigest(Buffer.from(whole)) });
  start({ [file]: missing }, told, settleMs);
  for (let part = 1; part <= 20; part++) {
    await writeFile(file, 'whole'.repeat(part));
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await expect.poll(() => changes, { interval: 5 }).toBe(1);
});

test('a file that is gone is told, too', async () => {
  const file = at('file');
  await writeFile(file, 'there');
  start({ [file]: fileDigest(Buffer.from('there')) }, () => {
    checked = { [file]: missing };
  });
  await rm(file);
  await expect.poll(() => changes, { interval: 5 }).toBe(1);
});

test('a device without an end is told, once', async () => {
  const file = at('file');
  await symlink('/dev/zero', file);
  start({ [file]: missing }, () => {
    checked = { [file]: unreadableDigest(Object.assign(new Error(), { code: 'ENOTREG' })) };
  });
  await expect.poll(() => changes, { interval: 5 }).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(changes).toBe(1);
});
