import { mkdir, mkdtemp, readlink, rm, unlink, writeFile, chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runProcess } from '../processes/start-process.ts';
import { temporaryFolder, type TemporaryFolder } from '../temporary-folder.ts';
import { completeBinaries, copyBinaries, findBinaries, program } from './binaries.ts';
import { canEnter, chooseAccount, serverAccount } from './server-account.ts';

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder('binaries-test');
});
afterAll(() => folder.remove());

test('a copy of the binaries runs under the account of the server', async () => {
  const account = await serverAccount();
  const place = await temporaryFolder('copy', { owner: account });
  const native = join(place.path, 'native');
  await copyBinaries(findBinaries().native, native);
  const identity = account === undefined ? {} : { uid: account.uid, gid: account.gid };
  const { code, stdout } = await runProcess(program(native, 'postgres'), ['--version'], identity);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining(`postgres (PostgreSQL) ${findBinaries().major}.`),
  });
  await place.remove();
});

test('the newest version is used unless another is named, and one that is not there is reported', () => {
  expect(findBinaries().major).toBe(18);
  expect(() => findBinaries('12')).toThrow(
    /^cannot find PostgreSQL 12 for \S+: npm run test:postgres installs what there is for this system$/,
  );
});

test('links and modes that an installation without scripts lacks are added', async () => {
  const native = join(folder.path, 'package', 'native');
  await mkdir(join(folder.path, 'package'));
  await copyBinaries(findBinaries().native, native);
  const library = join(native, 'lib', 'libpq.so.5');
  const target = await readlink(library);
  await unlink(library);
  // A file of its own: the copy may share the installed one.
  const initdb = program(native, 'initdb');
  await rm(initdb);
  await writeFile(initdb, '', { mode: 0o644 });
  await completeBinaries(native);
  expect(await readlink(library)).toBe(target);
  expect((await runProcess('test', ['-x', initdb])).code).toBe(0);
});

describe('the account of the server', () => {
  const nobody = 'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin';
  const daemon = 'daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin';
  const root = 'root:x:0:0:root:/root:/bin/bash';
  const postgres = 'postgres:x:104:112::/var/lib/postgresql:/bin/bash';
  test.each([
    ['postgres before others', [root, daemon, nobody, postgres], 'postgres'],
    ['nobody without it', [root, daemon, nobody], 'nobody'],
    ['another than root when need be', [root, daemon], 'daemon'],
    ['none when root is alone', [root, ''], undefined],
  ])('%s', (_title, lines, name) => {
    expect(chooseAccount(lines.join('\n'))?.name).toBe(name);
  });

  test('may not go below a folder that is closed to it', async () => {
    const otherAccount = { name: 'other', uid: 4_000_000, gid: 4_000_000 };
    const closed = await mkdtemp(join(tmpdir(), 'svc-tmp-closed-'));
    const inner = join(closed, 'inner');
    await mkdir(inner, { mode: 0o755 });
    expect(await canEnter(inner, otherAccount)).toBe(false);
    expect(await canEnter(inner, undefined)).toBe(true);
    await chmod(closed, 0o711);
    expect(await canEnter(inner, otherAccount)).toBe(true);
    expect(await canEnter(closed, otherAccount)).toBe(false);
    await rm(closed, { recursive: true });
  });
});
