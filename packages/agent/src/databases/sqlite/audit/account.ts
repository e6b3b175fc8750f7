import { accessSync, constants, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { AccountFinding } from '../../driver.ts';
import type { SqliteConfig } from '../config.ts';

/** What the agent's user may do to the file, to what SQLite keeps beside it, and to its folder. */
export function auditAccount({ file, isImmutable }: SqliteConfig): readonly AccountFinding[] {
  const uid = process.getuid?.();
  const paths = [file, `${file}-wal`, `${file}-journal`, dirname(file)].flatMap((path) => lookAt(path, uid));
  return findingsOf({ isRoot: uid === 0, isImmutable, paths });
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
    return [
      {
        problem,
        remedy: 'run it as a user of its own, mount the folder read-only, or set `immutable: true`',
      },
    ];
  }
  return open.flatMap(({ path, isWritable, isOwn }) => {
    if (isOwn) return [{ problem: `the agent's user owns ${path}`, remedy: `chown root ${path}` }];
    if (isWritable) return [{ problem: `the agent's user may write ${path}`, remedy: `chmod a-w ${path}` }];
    return [];
  });
}
