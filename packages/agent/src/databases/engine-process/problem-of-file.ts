import { stat } from 'node:fs/promises';
import { readProblem } from '@svc/edge';

/** A process is not started for a file that is not there; undefined for one that is. */
export async function problemOfFile(file: string): Promise<string | undefined> {
  try {
    return (await stat(file)).isFile()
      ? undefined
      : '`file` does not name a regular file; set it to the database file';
  } catch (error) {
    return `the file cannot be read: ${readProblem(error)}: check file`;
  }
}
