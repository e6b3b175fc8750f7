import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { AccountFinding } from '../driver/driver.ts';
import { findingsOf, type AuditedFiles } from './audit-files.ts';
import { engineCodeOf } from './engine-code.testing.ts';

const file = { path: '/data/a.db', isReadOnlyMount: false, isWritable: false, isOwn: false };
const plain = { isRoot: false, isImmutable: false };

test('a file that may be written, or that is its own, is told with what helps', () => {
  expect(findingsOf({ ...plain, paths: [file] })).toEqual([]);
  expect(findingsOf({ ...plain, paths: [{ ...file, isWritable: true }] })).toEqual([
    { problem: "the agent's user may write /data/a.db", remedy: 'chmod a-w /data/a.db' },
  ]);
  // Its owner may give the permission at any time.
  expect(findingsOf({ ...plain, isImmutable: true, paths: [{ ...file, isOwn: true }] })).toEqual([
    { problem: "the agent's user owns /data/a.db", remedy: 'chown root /data/a.db' },
  ]);
  const mounted = { ...file, isReadOnlyMount: true, isOwn: true };
  expect(findingsOf({ ...plain, paths: [mounted] })).toEqual([]);
});

test('root passes with a read-only mount, or a file that nobody changes', () => {
  const isRoot = true;
  expect(findingsOf({ isRoot, isImmutable: false, paths: [file] })).toHaveLength(1);
  expect(findingsOf({ isRoot, isImmutable: true, paths: [file] })).toEqual([]);
  const mounted = { ...file, isReadOnlyMount: true };
  expect(findingsOf({ isRoot, isImmutable: false, paths: [mounted] })).toEqual([]);
  expect(findingsOf({ isRoot, isImmutable: false, paths: [mounted, file] })).toHaveLength(1);
});

const NOBODY = 65_534;

interface Place {
  /** Of a file in the folder. */
  readonly at: (name: string) => string;
  readonly audit: (files?: Partial<AuditedFiles>) => readonly AccountFinding[];
}

/** A folder of root's with a file in it, and the audit by an agent that runs as nobody. */
async function openPlace(): Promise<Place> {
  const root = mkdtempSync(join(tmpdir(), 'audit-files-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const folder = join(root, 'shop/data');
  mkdirSync(folder, { recursive: true });
  const code = join(root, 'audit.cjs');
  const { text } = await engineCodeOf('audit', new URL('audit-files.ts', import.meta.url));
  writeFileSync(code, text);
  chmodSync(root, 0o755);
  const at = (name: string): string => join(folder, name);
  writeFileSync(at('a.db'), '');
  return {
    at,
    audit(files) {
      const audited: AuditedFiles = { files: [at('a.db')], besides: ['-wal', '-shm', '-journal'], ...files };
      const script = `process.stdout.write(JSON.stringify(require(${JSON.stringify(code)}).auditFiles(${JSON.stringify(audited)}, false)))`;
      const output = execFileSync(process.execPath, ['-e', script], { uid: NOBODY, gid: NOBODY, cwd: '/' });
      return JSON.parse(String(output));
    },
  };
}

/** Runs the command of each finding as root, up to what may be done instead. */
function follow(findings: readonly AccountFinding[]): void {
  for (const { remedy } of findings) {
    const [command = '', ...args] = (remedy.split(', or ')[0] ?? '').split(' ');
    execFileSync(command, args);
  }
}

test.runIf(process.getuid?.() === 0)(
  'files, what is beside them, their folders and those above are looked at',
  async () => {
    const { at, audit } = await openPlace();
    expect(audit()).toEqual([]);
    for (const [open, found, remedy] of [
      [() => chmodSync(at('a.db'), 0o666), `may write ${at('a.db')}`, `chmod a-w ${at('a.db')}`],
      [() => chownSync(at('a.db'), NOBODY, 0), `owns ${at('a.db')}`, `chown root ${at('a.db')}`],
      [() => chmodSync(at(''), 0o777), `may write ${at('')}`, `chmod a-w ${at('')}`],
      [() => chmodSync(at(''), 0o1777), `may write ${at('')}`, `chmod a-w ${at('')}`],
      [() => writeFileSync(at('a.db-shm'), '', { mode: 0o600 }), undefined, undefined],
      [() => chmodSync(at('a.db-shm'), 0o666), `may write ${at('a.db-shm')}`, `chmod a-w ${at('a.db-shm')}`],
      [
        () => chmodSync(at('..'), 0o777),
        `may write ${at('..')}, and so may replace ${at('')}`,
        `chmod a-w ${at('..')}, or move data out of it`,
      ],
      // Nobody else renames what root has in such a folder.
      [() => chmodSync(at('..'), 0o1777), undefined, undefined],
      [
        () => chownSync(at('..'), NOBODY, 0),
        `owns ${at('..')}, and so may replace ${at('')}`,
        `chown root ${at('..')}, or move data out of it`,
      ],
    ] as const) {
      open();
      const findings = audit();
      expect(findings).toEqual(found === undefined ? [] : [{ problem: `the agent's user ${found}`, remedy }]);
      follow(findings);
      expect(audit()).toEqual([]);
    }
  },
);

test.runIf(process.getuid?.() === 0)(
  'a link is followed to what it names, and its own folder counts',
  async () => {
    const { at, audit } = await openPlace();
    mkdirSync(at('links'));
    mkdirSync(at('more'));
    symlinkSync(at('a.db'), at('more/second.db'));
    symlinkSync('../more/second.db', at('links/first.db'));
    const files = [at('links/first.db')];
    expect(audit({ files })).toEqual([]);
    writeFileSync(at('a.db-wal'), '');
    chmodSync(at('a.db-wal'), 0o666);
    for (const name of ['links', 'more']) chmodSync(at(name), 0o777);
    const findings = audit({ files });
    expect(findings.map(({ problem }) => problem)).toEqual(
      ['a.db-wal', 'links', 'more'].map((name) => `the agent's user may write ${at(name)}`),
    );
    follow(findings);
    expect(audit({ files })).toEqual([]);
  },
);

test.runIf(process.getuid?.() === 0)('of a folder that may be read all that is in it counts', async () => {
  const { at, audit } = await openPlace();
  mkdirSync(at('exports/old'), { recursive: true });
  for (const name of ['1.csv', '2.csv', 'old/3.csv', 'old/4.csv']) writeFileSync(at(`exports/${name}`), '');
  const trees = [`${at('exports')}/`];
  expect(audit({ trees })).toEqual([]);
  for (const name of ['2.csv', 'old/3.csv']) chmodSync(at(`exports/${name}`), 0o666);
  chownSync(at('exports/old/4.csv'), NOBODY, 0);
  const findings = audit({ trees });
  expect(findings).toEqual([
    { problem: `the agent's user owns ${at('exports/old/4.csv')}`, remedy: `chown -R root ${at('exports')}` },
    {
      problem: `the agent's user may write ${at('exports/2.csv')} and 1 more below ${at('exports')}`,
      remedy: `chmod -R a-w ${at('exports')}`,
    },
  ]);
  follow(findings);
  expect(audit({ trees })).toEqual([]);
  const files = [at('a.db'), at('lone/rates.csv')];
  mkdirSync(at('lone'));
  chmodSync(at('lone'), 0o777);
  expect(audit({ files }).map(({ problem }) => problem)).toEqual([
    `the agent's user may write ${at('lone')}`,
  ]);
});
