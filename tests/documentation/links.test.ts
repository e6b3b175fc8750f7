import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { anchorsOf, proseOf, readDocument, readDocuments, readPolicies, ROOT } from './documents.ts';

const documents = readDocuments();

test.each([...documents, ...readPolicies()].map((document) => [document.path, document] as const))(
  'every link of %s leads somewhere',
  (path, document) => {
    const targets = [...proseOf(document).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !/^[a-z]+:/.test(target));
    const broken = targets.filter((target) => {
      const [file = '', anchor] = target.split('#');
      const linked = file === '' ? path : normalize(join(dirname(path), file));
      if (!existsSync(join(ROOT, linked))) return true;
      return anchor !== undefined && !anchorsOf(readDocument(linked)).has(anchor);
    });
    expect(broken).toEqual([]);
  },
);

test('every page is linked from the first one, and every decision from the list of decisions', () => {
  const paths = documents.map(({ path }) => path);
  const unlinked = (folder: string, pages: readonly string[]): readonly string[] => {
    expect(pages.length).toBeGreaterThan(10);
    const index = readDocument(`${folder}/README.md`).text;
    return pages.filter((path) => !index.includes(`(${path.slice(folder.length + 1)})`));
  };
  const decisions = paths.filter((path) => /^docs\/decisions\/\d/.test(path));
  const pages = paths.filter((path) => /^docs\/.+\//.test(path) && !decisions.includes(path));
  expect([...unlinked('docs', pages), ...unlinked('docs/decisions', decisions)]).toEqual([]);
});
