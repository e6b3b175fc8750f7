import { accessSync, constants, statSync } from 'node:fs';
import type { AccountFinding } from '../driver.ts';

/** What the agent's user may do to files and folders; of root only what a read-only mount or `isImmutable` rules out. */
export function auditFiles(paths: readonly string[], isImmutable: boolean): readonly AccountFinding[] {
  const uid = process.getuid?.();
  const lookedAt = paths.flatMap((path) => lookAt(path, uid));
  return findingsOf({ isRoot: uid === 0, isImmutable, paths: lookedAt });
}

interface LookedAt {
  readonly path: string;
  readonly isReadOnlyMount: boolean;
  readonly isWritable: boolean;
  /** Whoever owns it may give the permission to write. */
  readonly isOwn: boolean;
}

/** Empty for what is not there. */
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
}: {
  readonly isRoot: boolean;
  readonly isImmutable: boolean;
  readonly paths: readonly LookedAt[];
}): readonly AccountFinding[] {
  const open = paths.filter(({ isReadOnlyMount }) => !isReadOnlyMount);
  if (isRoot) {
    if (isImmutable || open.length === 0) return [];
    const problem = 'the agent runs as root, who may change any file';
    const remedy = 'run it as a user of its own, mount the folder read-only, or set `immutable: true`';
    return [{ problem, remedy }];
  }
  return open.flatMap(({ path, isWritable, isOwn }) => {
    if (isOwn) return [{ problem: `the agent's user owns ${path}`, remedy: `chown root ${path}` }];
    if (isWritable) return [{ problem: `the agent's user may write ${path}`, remedy: `chmod a-w ${path}` }];
    return [];
  });
}
