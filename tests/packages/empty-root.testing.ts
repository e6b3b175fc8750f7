import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Copies executables, by where they come to lie in `root`, with the libraries that they are linked with, and no more. */
export function copyWithLibraries(root: string, executables: Readonly<Record<string, string>>): void {
  for (const [path, file] of Object.entries(executables)) {
    copy(file, join(root, path), 0o755);
    for (const [library] of execFileSync('ldd', [file], { encoding: 'utf8' }).matchAll(/\/\S+/g)) {
      copy(realpathSync(library), join(root, library), 0o755);
    }
  }
}

/** What every system has beside files: where what is not wanted goes, and a place for sockets. */
export function addSystemFolders(root: string): void {
  mkdirSync(join(root, 'dev'), { recursive: true });
  mkdirSync(join(root, 'tmp'), { recursive: true });
  chmodSync(join(root, 'tmp'), 0o1777);
  spawnSync('mknod', ['-m', '666', join(root, 'dev/null'), 'c', '1', '3']);
}

function copy(file: string, path: string, mode: number): void {
  mkdirSync(dirname(path), { recursive: true });
  copyFileSync(file, path);
  chmodSync(path, mode);
}
