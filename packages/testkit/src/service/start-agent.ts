import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startProcess, type ProcessOptions, type RunningProcess } from '../processes/start-process.ts';
import { SVC_AGENT } from './executables.ts';

/** Makes the folder, with the agent's executable and these files in it. */
export async function makeAgentFolder(
  path: string,
  files: Readonly<Record<string, string>> = {},
  executable: string = SVC_AGENT,
): Promise<void> {
  await mkdir(path);
  await copyFile(executable, join(path, 'svc-agent'));
  for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content);
}

/** Starts the agent of a folder; resolves once `gateway` lists it. The rejection holds the output of the agent. */
export async function startAgent(
  gateway: RunningProcess,
  folder: string,
  env: NonNullable<ProcessOptions['env']> = {},
  flags: readonly string[] = [],
): Promise<RunningProcess> {
  const listed = nextRecord(gateway, 'agent_connected');
  listed.catch(() => {});
  const agent = await startProcess(join(folder, 'svc-agent'), flags, { cwd: folder, env });
  const died = agent.exited.then(async ({ code }) => {
    const log = await readFile(join(folder, 'svc-agent.log'), 'utf8').catch(() => '');
    throw new Error(`cannot start the agent: it ended with ${code}\n${agent.output()}\n${log}`);
  });
  try {
    await Promise.race([listed, died]);
  } catch (error) {
    await agent.stop();
    throw error;
  }
  return agent;
}

/** The next record of this event that the process writes from now on; rejects after 30 s. */
export function nextRecord(process: RunningProcess, event: string): Promise<string> {
  const matches = (line: string): boolean => line.includes(`"event":"${event}"`);
  let before = process.output('stdout').split('\n').filter(matches).length;
  return process.waitForLine((line) => matches(line) && before-- === 0);
}
