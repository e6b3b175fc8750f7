import { contentOf, fingerprint } from './fingerprint.ts';
import type { WarmProcess } from './warm-process.ts';
import type { WarmReport } from './warm-report.ts';
import type { FileWatch } from './watch-files.ts';

export interface CheckedSave {
  /** Of the capability file; undefined where it cannot be read. */
  readonly content: Uint8Array | undefined;
  readonly outcome: WarmReport['outcome'];
  readonly asked: number;
}

/** Checks the file as it is now, and has what was read watched from then on, however the check ends. */
export async function checkSave(file: string, warm: WarmProcess, watch: FileWatch): Promise<CheckedSave> {
  const content = contentOf(file);
  try {
    const { outcome, files, asked } = await warm.check({ file, content });
    watch.read(files);
    return { content, outcome, asked };
  } catch (error) {
    watch.read([{ name: file, fingerprint: fingerprint(content) }]);
    throw error;
  }
}
