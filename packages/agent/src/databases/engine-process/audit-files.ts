import { accessSync, constants, lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { AccountFinding } from '../driver/driver.ts';

export interface AuditedFiles {
  /** Each is audited with its folder. */
  readonly files: readonly string[];
  /** The endings of the files that the engine keeps beside the first file. */
  readonly besides: readonly string[];
  /** Folders that are audited with their content, up to a bound. A slash at the end means nothing. */
  readonly trees?: readonly string[];
}

const MOST_ENTRIES = 1000;
const MOST_LINKS = 40;
const STICKY = 0o1000;

/**
 * What the agent's user may do to files and folders. For root only a read-only mount or `isImmutable` rules changes
 * out.
 */
export function auditFiles(audited: AuditedFiles, isImmutable: boolean): readonly AccountFinding[] {
  const uid = process.getuid?.();
  const look = (path: string): readonly LookedAt[] => lookAt(path, uid);
  const places = audited.files.flatMap(namesOf);
  const trees = (audited.trees ?? []).map((path) => path.replace(/(?<=.)\/$/, ''));
  const [main = '', ...others] = audited.files;
  const beside = namesOf(main).flatMap((name) => audited.besides.map((ending) => `${name}${ending}`));
  const folders = [...new Set([...places.map((path) => dirname(path)), ...trees.flatMap(namesOf)])];
  return findingsOf({
    isRoot: uid === 0,
    isImmutable,
    paths: [...new Set([main, ...beside, ...others, ...folders])].flatMap(look),
    above: [...new Set(folders.flatMap(pathsAbove))].flatMap((path) =>
      look(dirname(path)).map((folder) => ({ ...folder, holds: path, ...heldBy(path, folder.path, uid) })),
    ),
    trees: trees.map((path) => ({ path, entries: entriesBelow(path).flatMap(look) })),
  });
}

/** The path, what it is a link to, and so on. */
function namesOf(path: string): readonly string[] {
  const names = [path];
  try {
    for (let name = path; lstatSync(name).isSymbolicLink() && names.length <= MOST_LINKS;) {
      name = resolve(dirname(name), readlinkSync(name));
      names.push(name);
    }
    // Folders on the way may also be links.
    names.push(realpathSync(path));
  } catch {
    // A missing file is no link.
  }
  return [...new Set(names)];
}

/** The folder and those above it, without the root. */
function pathsAbove(folder: string): readonly string[] {
  const above = dirname(folder);
  return above === folder ? [] : [folder, ...pathsAbove(above)];
}

function heldBy(path: string, folder: string, uid: number | undefined): Pick<Above, 'isKept'> {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  const mode = statSync(folder, { throwIfNoEntry: false })?.mode ?? 0;
  // In a sticky folder only the owners of the folder and of the entry may rename the entry.
  return { isKept: (mode & STICKY) !== 0 && entry?.uid !== uid };
}

function entriesBelow(folder: string): readonly string[] {
  const entries: string[] = [];
  const folders = [folder];
  for (
    let next = folders.shift();
    next !== undefined && entries.length < MOST_ENTRIES;
    next = folders.shift()
  ) {
    try {
      for (const entry of readdirSync(next, { withFileTypes: true })) {
        const path = join(next, entry.name);
        entries.push(path);
        if (entry.isDirectory()) folders.push(path);
      }
    } catch {
      // The agent's user cannot list it, and so cannot read it either.
    }
  }
  return entries.slice(0, MOST_ENTRIES);
}

interface LookedAt {
  readonly path: string;
  readonly isReadOnlyMount: boolean;
  readonly isWritable: boolean;
  /** The owner can grant itself the permission to write. */
  readonly isOwn: boolean;
}

/** A folder in which `holds` could be replaced. */
interface Above extends LookedAt {
  readonly holds: string;
  /** Whether `holds` stays although the folder may be written. */
  readonly isKept: boolean;
}

/** Empty for a missing file. */
function lookAt(path: string, uid: number | undefined): readonly LookedAt[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  const refusal = refusalOfWriting(path);
  const isReadOnlyMount = refusal === 'EROFS';
  return [{ path, isReadOnlyMount, isWritable: refusal === undefined, isOwn: found.uid === uid }];
}

function refusalOfWriting(path: string): string | undefined {
  try {
    accessSync(path, constants.W_OK);
    return undefined;
  } catch (error) {
    return String(Object(error).code);
  }
}

export function findingsOf({
  isRoot,
  isImmutable,
  paths,
  above = [],
  trees = [],
}: {
  readonly isRoot: boolean;
  readonly isImmutable: boolean;
  readonly paths: readonly LookedAt[];
  readonly above?: readonly Above[];
  readonly trees?: readonly { readonly path: string; readonly entries: readonly LookedAt[] }[];
}): readonly AccountFinding[] {
  const open = paths.filter(isOpen);
  if (isRoot) {
    if (isImmutable || open.length === 0) return [];
    const problem = 'the agent runs as root, who may change any file';
    const remedy = 'run it as a user of its own, mount the folder read-only, or set `immutable: true`';
    return [{ problem, remedy }];
  }
  const told = new Set(open.map(({ path }) => path));
  return [
    ...open.flatMap((place) => judge(place, '')),
    ...above
      .filter((place) => isOpen(place) && !told.has(place.path) && (place.isOwn || !place.isKept))
      .flatMap((place) => judge(place, place.holds)),
    ...trees.flatMap(({ path, entries }) => judgeTree(path, entries.filter(isOpen))),
  ];
}

function isOpen({ isReadOnlyMount }: LookedAt): boolean {
  return !isReadOnlyMount;
}

function judge({ path, isOwn, isWritable }: LookedAt, holds: string): readonly AccountFinding[] {
  const so = holds === '' ? '' : `, and so may replace ${holds}`;
  const or = holds === '' ? '' : `, or move ${basename(holds)} out of it`;
  if (isOwn) return [{ problem: `the agent's user owns ${path}${so}`, remedy: `chown root ${path}${or}` }];
  if (!isWritable) return [];
  return [{ problem: `the agent's user may write ${path}${so}`, remedy: `chmod a-w ${path}${or}` }];
}

function judgeTree(folder: string, entries: readonly LookedAt[]): readonly AccountFinding[] {
  const own = entries.filter(({ isOwn }) => isOwn);
  const writable = entries.filter(({ isOwn, isWritable }) => !isOwn && isWritable);
  return [
    ...tell(folder, own, 'owns', 'chown -R root'),
    ...tell(folder, writable, 'may write', 'chmod -R a-w'),
  ];
}

function tell(
  folder: string,
  [first, ...others]: readonly LookedAt[],
  may: string,
  how: string,
): readonly AccountFinding[] {
  if (first === undefined) return [];
  const more = others.length === 0 ? '' : ` and ${others.length} more below ${folder}`;
  return [{ problem: `the agent's user ${may} ${first.path}${more}`, remedy: `${how} ${folder}` }];
}
