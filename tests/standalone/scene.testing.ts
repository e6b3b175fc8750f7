import { onTestFinished } from 'vitest';
import { libraryFolder } from './library.testing.ts';
import { startStdio, type StdioClient } from './stdio.testing.ts';

/** A folder with the capability file, until the test ends. */
export async function folderOf(text: string): Promise<{ readonly path: string; readonly file: string }> {
  const folder = await libraryFolder(text);
  onTestFinished(() => folder.remove());
  return folder;
}

/** `svc stdio`, until the test ends. */
export async function start(
  args: readonly string[],
  options: Parameters<typeof startStdio>[1] = {},
): Promise<StdioClient> {
  const client = await startStdio(args, options);
  onTestFinished(async () => void (await client.process.stop()));
  return client;
}
