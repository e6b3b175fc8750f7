import { readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@svc/testkit';
import { expect, test } from 'vitest';
import { draftFolder, filesInTheWay } from './write-folder.ts';

test('a link that leads nowhere is in the way, and stays', async () => {
  const folder = await temporaryFolder('write');
  const link = join(folder.path, 'to', 'reader.sql');
  const target = join(folder.path, 'to');
  const other = { path: 'capability.yaml', text: 'a', isSecret: false };
  draftFolder(target, [other]).commit();
  await symlink('nowhere', link);
  const files = [{ path: 'reader.sql', text: 'b', isSecret: false }];
  expect(filesInTheWay(target, files)).toEqual([link]);
  const draft = draftFolder(target, files);
  expect(() => draft.commit()).toThrow('reader.sql: it is there already');
  draft.discard();
  expect(await readdir(folder.path)).toEqual(['to']);
  await folder.remove();
});
