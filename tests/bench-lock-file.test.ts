import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface LockedPackage {
  readonly version?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

function read(name: string): string {
  return readFileSync(new URL(`../bench/peers/${name}`, import.meta.url), 'utf8');
}

const manifest: Manifest = JSON.parse(read('package.json'));
const text = read('package-lock.json');
const { packages }: { packages: Readonly<Record<string, LockedPackage>> } = JSON.parse(text);

test('the peers are locked at exactly the version that is named', () => {
  const named = { ...manifest.dependencies, ...manifest.optionalDependencies };
  const locked = Object.keys(named).map((name) => [name, packages[`node_modules/${name}`]?.version]);
  expect(Object.fromEntries(locked)).toEqual(named);
});

test('the lock file holds the packages of every platform, or npm ci refuses it', () => {
  const names = new Set(
    Object.keys(packages).map((path) => path.slice(path.lastIndexOf('node_modules/') + 13)),
  );
  const wanted = Object.values(packages).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
  expect(wanted.filter((name) => !names.has(name))).toEqual([]);
});

test('the lock file names no registry', () => {
  expect(text).not.toMatch(/"resolved": "https?:/);
});
