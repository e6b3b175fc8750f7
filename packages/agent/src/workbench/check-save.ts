import { readFileSync } from 'node:fs';
import type { VerificationFault } from '../databases/driver/errors.ts';
import { fileDigest, unreadableDigest } from '../start-up/file-digest.ts';
import type { FileDigests } from '../start-up/report.ts';
import type { WarmProcess } from './warm-process.ts';
import type { WarmReport } from './warm-report.ts';

export interface CheckedSave {
  /** Of the capability file; undefined if it cannot be read. */
  readonly content: Uint8Array | undefined;
  readonly outcome: WarmReport['outcome'];
  readonly asked: number;
}

export interface RefusedSave extends Pick<CheckedSave, 'content'> {
  readonly faults: readonly VerificationFault[];
}

export type PassedSave = Pick<CheckedSave, 'content' | 'asked'> &
  Extract<CheckedSave['outcome'], { step: 'verified' }>;

/** Checks the file as it is now. `onRead` gets what was read, however the check ends. */
export async function checkSave(
  file: string,
  warm: WarmProcess,
  onRead: (files: FileDigests) => void,
): Promise<CheckedSave> {
  const { content, digest } = read(file);
  onRead({ [file]: digest });
  const { outcome, files, asked } = await warm.check({ file, content });
  onRead(files);
  return { content, outcome, asked };
}

function read(file: string): { readonly content: Uint8Array | undefined; readonly digest: string } {
  try {
    const content = readFileSync(file);
    return { content, digest: fileDigest(content) };
  } catch (error) {
    return { content: undefined, digest: unreadableDigest(error) };
  }
}
