import { expect, test } from 'vitest';
import { findingsOf } from './audit-files.ts';

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
