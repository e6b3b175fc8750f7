import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { LineSink } from '@svc/edge';
import { createStream, type RotatingFileStream } from 'rotating-file-stream';

export interface RotatingFileOptions {
  /** The active file; older ones are called `<file>.1` and so on. */
  readonly file: string;
  /** Where the file is left behind for a new one. */
  readonly sizeBytes: number;
  /** Kept files, the active one included. */
  readonly maxFiles: number;
  /** The file cannot be written, for the first time since it last could. */
  readonly onBroken: (error: Error) => void;
}

export interface RotatingFile extends LineSink {
  /** `complete`: everything has been written; otherwise what is under way is given up. */
  close(complete: boolean): Promise<void>;
}

/** A file that is opened when it is first needed, and again after it could not be written: disks fill and empty. */
export function rotatingFile(options: RotatingFileOptions): RotatingFile {
  const { file, sizeBytes, maxFiles, onBroken } = options;
  let stream: RotatingFileStream | undefined;
  let broken = false;
  let removing: Promise<unknown> = Promise.resolve();

  function open(): RotatingFileStream {
    const opened = createStream(basename(file), {
      path: dirname(file),
      size: `${sizeBytes}B`,
      // The library keeps one old file at least.
      rotate: Math.max(1, maxFiles - 1),
    });
    opened.on('error', (error) => {
      if (stream === opened) stream = undefined;
      failed(error);
    });
    if (maxFiles === 1) {
      opened.on('rotated', (old) => {
        removing = rm(old, { force: true }).catch(failed);
      });
    }
    return opened;
  }

  function failed(error: Error): void {
    if (!broken) onBroken(error);
    broken = true;
  }

  return {
    write(text, done) {
      const current = (stream ??= open());
      current.write(text, (error) => {
        if (error === null || error === undefined) broken = false;
        else if (stream === current) stream = undefined;
        done();
      });
    },
    lastWords(begun, rest) {
      const descriptor = openSync(file, 'a+');
      if (!endsWith(descriptor, begun)) writeSync(descriptor, begun);
      writeSync(descriptor, rest);
      closeSync(descriptor);
    },
    async close(complete) {
      const last = stream;
      if (last === undefined) return;
      if (complete) await new Promise<void>((resolve) => last.end(() => resolve()));
      else last.destroy();
      await removing;
    },
  };
}

function endsWith(descriptor: number, text: string): boolean {
  const wanted = Buffer.from(text);
  const found = Buffer.alloc(wanted.length);
  const start = fstatSync(descriptor).size - wanted.length;
  return start >= 0 && readSync(descriptor, found, 0, found.length, start) > -1 && found.equals(wanted);
}
