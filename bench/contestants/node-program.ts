import { startProcess, type RunningProcess } from '@svc/testkit';
import type { NodeExecutable } from './node-executable.ts';

export interface NodeProgram {
  readonly url: string;
  readonly server: RunningProcess;
}

/** Starts a server that takes its settings as one JSON argument and prints `listening on PORT`. */
export async function startNodeProgram(
  node: NodeExecutable,
  file: string,
  settings: unknown,
  env: Readonly<Record<string, string>> = {},
): Promise<NodeProgram> {
  const server = await startProcess(node.path, [file, JSON.stringify(settings)], { env });
  try {
    const line = await server.waitForLine((text) => text.startsWith('listening on '));
    return { url: `http://127.0.0.1:${line.slice('listening on '.length)}`, server };
  } catch (error) {
    await server.stop();
    throw error;
  }
}
