import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
  type Stats,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readProblem } from '@svc/edge';
import type { CreatedKey } from '../../auth/api-keys/create-key.ts';
import { parseJsonArray } from '../parse/json.ts';
import { bad, good, type Parsed } from '../parse/parsed.ts';
import { parseKeyEntries } from './key-records.ts';

const NEW_FILE_MODE = 0o600;
const PERMISSION_BITS = 0o7777;
/** Without O_NONBLOCK, opening a pipe in place of a file would wait for its other end. */
const READ_ONLY = constants.O_RDONLY | constants.O_NONBLOCK;
/** Long enough: each run holds the lock only for one write. */
const LOCK_WAIT_MS = 10_000;
const LOCK_RETRY_MS = 20;

interface KeysFile {
  readonly text: string;
  readonly stats: Stats;
}

/**
 * Adds the record to a file such as GATEWAY_API_KEYS_FILE names, and creates a missing file. If this resolves to a problem,
 * the file is unchanged.
 */
export async function addKeyRecord(path: string, record: CreatedKey['record']): Promise<Parsed<undefined>> {
  try {
    const target = fileBehindLinks(path);
    // As in git, the lock is the file that will replace the old one, and renaming it releases the lock.
    const draft = `${target}.lock`;
    const descriptor = await openLock(draft);
    if (descriptor === undefined) {
      const advice = `if no other create-key is running, remove ${draft}`;
      return bad(`${draft} has been there for ${LOCK_WAIT_MS / 1000} s; ${advice}`);
    }
    let isDraft = true;
    try {
      const before = readKeysFile(target);
      const text = withRecord(before?.text, record);
      if (!text.ok) return text;
      writeFileSync(descriptor, text.value);
      takeOnOwnerAndMode(descriptor, before?.stats);
      fsyncSync(descriptor);
      renameSync(draft, target);
      // From here on the lock may be another run's.
      isDraft = false;
    } finally {
      closeSync(descriptor);
      if (isDraft) rmSync(draft, { force: true });
    }
    syncFolder(dirname(target));
    return good(undefined);
  } catch (error) {
    return bad(`the file cannot be read or replaced: ${readProblem(error)}`);
  }
}

/** The target of a symbolic link may be missing: then the target is created. */
function fileBehindLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
  const here = resolve(realpathSync(dirname(path)), path.slice(path.lastIndexOf('/') + 1));
  try {
    return fileBehindLinks(resolve(dirname(here), readlinkSync(here)));
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'EINVAL')) return here;
    throw error;
  }
}

async function openLock(path: string): Promise<number | undefined> {
  const end = performance.now() + LOCK_WAIT_MS;
  for (;;) {
    try {
      return openSync(path, 'wx', NEW_FILE_MODE);
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
    }
    if (performance.now() > end) return undefined;
    await pause(LOCK_RETRY_MS);
  }
}

function readKeysFile(path: string): KeysFile | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, READ_ONLY);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() && !stats.isDirectory()) throw Object.assign(new Error(), { code: 'ENOTREG' });
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(descriptor));
    return { text, stats };
  } finally {
    closeSync(descriptor);
  }
}

/** Existing records stay as they are written. */
function withRecord(before: string | undefined, record: CreatedKey['record']): Parsed<string> {
  const line = `  ${JSON.stringify(record)}\n]\n`;
  if (before === undefined) return good(`[\n${line}`);
  const array = parseJsonArray(before, {
    shellHint: undefined,
    record: '{"name", "key_hash", "capabilities"}',
  });
  if (!array.ok) return array;
  const entries = parseKeyEntries([...array.value, record], 'file');
  if (!entries.ok) return entries;
  const head = before.slice(0, before.lastIndexOf(']')).trimEnd();
  return good(`${head}${array.value.length === 0 ? '' : ','}\n${line}`);
}

function takeOnOwnerAndMode(descriptor: number, before: Stats | undefined): void {
  const { uid, gid } = fstatSync(descriptor);
  if (before !== undefined && (before.uid !== uid || before.gid !== gid)) {
    fchownSync(descriptor, before.uid, before.gid);
  }
  // After the change of the owner, which clears bits; and independent of the umask.
  fchmodSync(descriptor, before === undefined ? NEW_FILE_MODE : before.mode & PERMISSION_BITS);
}

/** Otherwise the new name may be lost when the machine stops. Not every file system supports it. */
function syncFolder(path: string): void {
  try {
    const descriptor = openSync(path, constants.O_RDONLY);
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // The file is in place nevertheless.
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
