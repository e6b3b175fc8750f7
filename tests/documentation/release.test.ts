import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from './documents.ts';

/** JavaScript without types, as all scripts that run before anything is installed. */
const { changelogFaults, notesOf, releaseSection, tagText, versionFaults } = await import(
  join(ROOT, 'scripts/packages/release-texts.mjs')
);
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const { version } = JSON.parse(read('package.json'));

const CHANGELOG = `# Changelog

## Unreleased

## 1.2.3 (2030-01-02)

What it is about.

### Added

- A thing.

## 1.2.2 (2029-01-02)

- Another.
`;

test('packages, charts, Compose file and guide state the version of the repository', () => {
  expect(versionFaults(version, read)).toEqual([]);
  expect(versionFaults('9.9.9', read)).toContain(
    'deploy/helm/svc-agent/Chart.yaml does not have appVersion: 9.9.9',
  );
  expect(releaseSection(read('CHANGELOG.md'), version)).toContain('### Added');
});

describe('the changelog of a release', () => {
  test('has the version with its day, and nothing unreleased', () => {
    expect(changelogFaults(CHANGELOG, '1.2.3')).toEqual([]);
    expect(changelogFaults(CHANGELOG, '1.2.4')).toEqual([expect.stringContaining('no section "## 1.2.4')]);
    const open = CHANGELOG.replace('## Unreleased\n', '## Unreleased\n\n- Not yet.\n');
    expect(changelogFaults(open, '1.2.3')).toEqual([expect.stringContaining('under "Unreleased"')]);
  });

  test('gives the text of one version', () => {
    expect(releaseSection(CHANGELOG, '1.2.3')).toBe('What it is about.\n\n### Added\n\n- A thing.');
    expect(releaseSection(CHANGELOG, '1.2.2')).toBe('- Another.');
  });
});

test('the text of the tag has no line that git takes for a comment, and names the checksum of the checksums', () => {
  const text = tagText('1.2.3', releaseSection(CHANGELOG, '1.2.3'), 'abc');
  expect(text).toBe('svc 1.2.3\n\nWhat it is about.\n\nAdded:\n\n- A thing.\n\nSHA256SUMS: abc\n');
});

test('the notes have every package with its checksum, and what is missing with its reason', () => {
  const notes = notesOf({
    version: '1.2.3',
    section: '- A thing.',
    made: [{ kind: 'npm', file: 'svc-1.2.3.tgz', bytes: 3 * 2 ** 20, sha256: 'f00d' }],
    not_made: [{ kind: 'image', reason: 'buildah is not installed' }],
    commit: 'c0ffee',
    source_date_epoch: 1,
    tools: ['tar: tar 1.35'],
  });
  for (const part of [
    '- A thing.',
    '| svc-1.2.3.tgz | 3.0 MB | `f00d` |',
    '- image: buildah is not installed',
  ])
    expect(notes).toContain(part);
  expect(notes).toContain('Commit c0ffee, SOURCE_DATE_EPOCH=1.');
});
