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
  /** Where the files are until `commit`. */
  readonly path: string;
  /** Puts all files in place, or throws and leaves the folder as it was. */
  commit(): void;
  /** Removes what has not been put in place. */
  discard(): void;
}

/** The paths that exist already. */
export function filesInTheWay(folder: string, files: readonly FileToWrite[]): readonly string[] {
  if (existsSync(folder) && !isFolder(folder)) return [folder];
  return [...new Set(files.map(({ path }) => firstPart(path)))]
    .map((name) => join(folder, name))
    .filter(isThere);
}

/** Writes the files into a temporary folder beside `folder`. */
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
    // A temporary folder belongs to one person alone.
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
      // A rename would replace a file.
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

/** Also true of a link that leads nowhere. */
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
