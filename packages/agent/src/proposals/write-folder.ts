import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

export interface FileToWrite {
  /** Below the folder, with at most one folder of its own. */
  readonly path: string;
  readonly text: string;
  /** Only its owner may read it. */
  readonly isSecret: boolean;
}

export interface FolderDraft {
  /** The files stand here until they are put in place. */
  readonly path: string;
  /** Puts all files in place, or throws and leaves the folder as it was. */
  commit(): void;
  /** Removes what has not been put in place. */
  discard(): void;
}

/** Those of the files that are there already, as they are named. */
export function filesInTheWay(folder: string, files: readonly FileToWrite[]): readonly string[] {
  if (existsSync(folder) && !isFolder(folder)) return [folder];
  return [...new Set(files.map(({ path }) => firstPart(path)))]
    .map((name) => join(folder, name))
    .filter(isThere);
}

/** Writes the files into a folder beside `folder`. */
export function draftFolder(folder: string, files: readonly FileToWrite[]): FolderDraft {
  const target = resolve(folder);
  const parent = dirname(target);
  mkdirSync(parent, { recursive: true });
  const draft = mkdtempSync(join(parent, `.${basename(target)}-`));
  try {
    for (const { path, text, isSecret } of files) {
      const file = join(draft, path);
      mkdirSync(dirname(file), { recursive: true, mode: isSecret ? 0o700 : 0o755 });
      writeFileSync(file, text, { mode: isSecret ? 0o600 : 0o644, flag: 'wx' });
    }
    // Made for one person alone, as temporary folders are.
    chmodSync(draft, 0o755);
  } catch (error) {
    rmSync(draft, { recursive: true });
    throw error;
  }
  return {
    path: draft,
    commit() {
      if (existsSync(target)) moveInto(target, draft);
      else renameSync(draft, target);
    },
    discard: () => rmSync(draft, { recursive: true, force: true }),
  };
}

function moveInto(target: string, draft: string): void {
  const moved: string[] = [];
  try {
    for (const name of readdirSync(draft)) {
      // A rename would take the place of a file.
      if (isThere(join(target, name))) throw new Error(`cannot write ${name}: it is there already`);
      renameSync(join(draft, name), join(target, name));
      moved.push(name);
    }
  } catch (error) {
    for (const name of moved) renameSync(join(target, name), join(draft, name));
    throw error;
  }
  rmSync(draft, { recursive: true });
}

/** A link that leads nowhere is there, too. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function isFolder(path: string): boolean {
  try {
    readdirSync(path);
    return true;
  } catch {
    return false;
  }
}

function firstPart(path: string): string {
  return path.split('/')[0] ?? path;
}
