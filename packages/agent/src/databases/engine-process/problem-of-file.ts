import { stat } from 'node:fs/promises';
import { readProblem } from '@svc/edge';

/** Undefined for a file that is there. No process is started for a missing file. */
export async function problemOfFile(file: string): Promise<string | undefined> {
  try {
    return (await stat(file)).isFile()
      ? undefined
      : '`file` does not name a regular file; set it to the database file';
  } catch (error) {
    return `the file cannot be read: ${readProblem(error)}: check file`;
  }
}
