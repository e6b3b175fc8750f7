import { fchmodSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import type { LineSink } from '@svc/edge';

export interface RotatingFileOptions {
  /** The active file; older ones are called `<file>.1` and so on. */
  readonly file: string;
  /** The size at which the file is renamed and a new one begun. */
  readonly sizeBytes: number;
  /** Kept files, the active one included. */
  readonly maxFiles: number;
  /** The file cannot be written any more. Writing is retried until it succeeds. */
  readonly onBroken: (error: Error) => void;
  /** The file can be written again. */
  readonly onRecovered: () => void;
  /** The file is full and cannot be renamed any more, so it grows. */
  readonly onStuck: (error: Error) => void;
}

export interface RotatingFile extends LineSink {
  /** `complete`: everything has been written; otherwise the write under way is given up. */
  close(complete: boolean): Promise<void>;
}

const FIRST_RETRY_MS = 50;
/** Closing the log waits two seconds, so there is at least one try in that time. */
const LAST_RETRY_MS = 1000;
/** How often the open file is compared with the file of that name. */
const LOOK_MS = 1000;
/** The log may hold database text: no other account may read it, unless the operator gives it to a group. */
const NEW_FILE_MODE = 0o600;
const LINE_END = 0x0a;

/**
 * A file of whole lines, whatever happens to its disk or its name. A batch that the disk cuts off is cut back to its last
 * whole line, and the rest is retried until it is written. Libraries for log files drop a failed batch, and do not tell how
 * much of it is in the file.
 */
export function rotatingFile(options: RotatingFileOptions): RotatingFile {
  const { file, sizeBytes, maxFiles, onBroken, onRecovered, onStuck } = options;
  let handle: FileHandle | undefined;
  let mode = NEW_FILE_MODE;
  let size = 0;
  let fullAt = sizeBytes;
  let lookAt = 0;
  /** Bytes that may not be in the file yet; begins with a whole line. */
  let waiting: Uint8Array = Buffer.alloc(0);
  let broken = false;
  let retryMs = FIRST_RETRY_MS;
  let retry: NodeJS.Timeout | undefined;
  let closed = false;

  async function writeWaiting(done: () => void): Promise<void> {
    try {
      await append(await ready());
    } catch (error) {
      await closeHandle();
      if (closed) return;
      const first = !broken;
      broken = true;
      if (first) onBroken(asError(error));
      retry = setTimeout(() => void writeWaiting(done), retryMs).unref();
      retryMs = Math.min(2 * retryMs, LAST_RETRY_MS);
      return;
    }
    if (broken) onRecovered();
    broken = false;
    retryMs = FIRST_RETRY_MS;
    done();
  }

  async function append(active: FileHandle): Promise<void> {
    let written = 0;
    try {
      while (written < waiting.length) {
        const { bytesWritten } = await active.write(waiting, written);
        written += bytesWritten;
        size += bytesWritten;
      }
    } catch (error) {
      const whole = wholeLines(waiting, written);
      cutOff(active.fd, waiting.subarray(whole, written));
      waiting = waiting.subarray(whole);
      throw error;
    }
    waiting = waiting.subarray(written);
  }

  /** The file to write to: open, still of that name, and not full. */
  async function ready(): Promise<FileHandle> {
    if (handle !== undefined && performance.now() >= lookAt) await look(handle);
    handle ??= await openFile();
    if (size < fullAt) return handle;
    try {
      await rotate();
    } catch (error) {
      if (fullAt === sizeBytes) onStuck(asError(error));
      fullAt = size + sizeBytes;
      return handle;
    }
    const kept = mode;
    fullAt = sizeBytes;
    await closeHandle();
    handle = await openFile();
    // The umask may have removed permissions that the operator had given.
    mode = kept;
    setMode(handle.fd, mode);
    return handle;
  }

  /** Somebody may have moved the file away, removed it, or emptied it. */
  async function look(active: FileHandle): Promise<void> {
    lookAt = performance.now() + LOOK_MS;
    const own = await active.stat();
    const found = await stat(file).catch(() => undefined);
    if (found?.ino === own.ino && found.dev === own.dev) size = own.size;
    else await closeHandle();
  }

  async function openFile(): Promise<FileHandle> {
    const opened = await open(file, 'a+', mode);
    try {
      const found = await opened.stat();
      if (!found.isFile()) throw new Error(`${file} is not a file`);
      ({ size } = found);
      mode = found.mode & 0o660;
      if ((found.mode & 0o007) !== 0) setMode(opened.fd, mode);
      if (!endsWithLine(opened.fd)) await opened.write('\n');
    } catch (error) {
      await opened.close();
      throw error;
    }
    lookAt = performance.now() + LOOK_MS;
    return opened;
  }

  async function rotate(): Promise<void> {
    if (maxFiles === 1) await rm(file, { force: true });
    for (let age = maxFiles - 1; age > 0; age--) {
      try {
        await rename(age === 1 ? file : `${file}.${age - 1}`, `${file}.${age}`);
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    }
  }

  async function closeHandle(): Promise<void> {
    const last = handle;
    handle = undefined;
    // Some file systems report a full disk on closing; the writes have reported it already.
    await last?.close().catch(() => {});
  }

  return {
    write(text, done) {
      waiting = Buffer.from(text);
      void writeWaiting(done);
    },
    writeAtExit(_begun, rest) {
      const descriptor = openSync(file, 'a+', mode);
      // A thread of Node.js may have written it already.
      if (!endsWith(descriptor, waiting)) appendSync(descriptor, waiting);
      appendSync(descriptor, Buffer.from(rest));
    },
    async close(complete) {
      closed = true;
      clearTimeout(retry);
      if (complete) await closeHandle();
    },
  };
}

function appendSync(descriptor: number, bytes: Uint8Array): void {
  let written = 0;
  try {
    while (written < bytes.length) written += writeSync(descriptor, bytes, written);
  } catch (error) {
    cutOff(descriptor, bytes.subarray(wholeLines(bytes, written), written));
    throw error;
  }
}

/** The length of the whole lines among the first `length` bytes. */
function wholeLines(bytes: Uint8Array, length: number): number {
  return bytes.subarray(0, length).lastIndexOf(LINE_END) + 1;
}

/** Removes the beginning of a line from the end of the file, unless another process has appended to it. */
function cutOff(descriptor: number, torn: Uint8Array): void {
  if (torn.length === 0) return;
  try {
    if (endsWith(descriptor, torn)) ftruncateSync(descriptor, fstatSync(descriptor).size - torn.length);
  } catch {
    // For example an append-only file: the line is ended when the file is opened again.
  }
}

/** False after a line that could not be cut off: the process was killed while it wrote, or the machine stopped. */
function endsWithLine(descriptor: number): boolean {
  return fstatSync(descriptor).size === 0 || endsWith(descriptor, Uint8Array.of(LINE_END));
}

function endsWith(descriptor: number, bytes: Uint8Array): boolean {
  const found = Buffer.alloc(bytes.length);
  const start = fstatSync(descriptor).size - bytes.length;
  return start >= 0 && readSync(descriptor, found, 0, found.length, start) > -1 && found.equals(bytes);
}

function setMode(descriptor: number, mode: number): void {
  try {
    fchmodSync(descriptor, mode);
  } catch {
    // The file belongs to another account, or its file system has no modes.
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
