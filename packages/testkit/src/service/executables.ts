import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProcess } from '../processes/start-process.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../../..');

/** The built executables, as users run them; `npm test` builds them first. */
export const SVC_GATEWAY: string = join(root, 'dist/svc-gateway');
export const SVC_AGENT: string = join(root, 'dist/svc-agent');

export interface AgentSecret {
  readonly agent_private_key: string;
  readonly agent_public_key: string;
}

export interface CreatedKey {
  readonly api_key: string;
  readonly record: Readonly<Record<string, unknown>>;
}

export async function createAgentSecret(): Promise<AgentSecret> {
  return await printedJson<AgentSecret>(['create-agent-secret', '--json']);
}

/** `capabilities` is `*` or names separated by commas. */
export async function createKey(name: string, capabilities: string): Promise<CreatedKey> {
  return await printedJson<CreatedKey>([
    'create-key',
    '--name',
    name,
    '--capabilities',
    capabilities,
    '--json',
  ]);
}

async function printedJson<T>(args: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await runProcess(SVC_GATEWAY, args);
  if (code !== 0) throw new Error(`cannot run svc-gateway ${args.join(' ')}: ${stderr}`);
  const printed: T = JSON.parse(stdout);
  return printed;
}
