import { startProcess, type ProcessOptions, type RunningProcess } from '../processes/start-process.ts';
import { SVC_GATEWAY } from './executables.ts';

export interface StartedGateway {
  readonly process: RunningProcess;
  readonly port: number;
  /** The `listening` record. */
  readonly listening: Readonly<Record<string, unknown>>;
}

/** The settings that every gateway needs; a free port of this machine only. */
export function gatewaySettings(
  agentPublicKey: string,
  keyRecords: readonly unknown[],
): Readonly<Record<string, string>> {
  return {
    GATEWAY_ADDR: '127.0.0.1:0',
    GATEWAY_AGENT_PUBLIC_KEY: agentPublicKey,
    GATEWAY_API_KEYS_JSON: JSON.stringify(keyRecords),
  };
}

/** The gateway's executable with this environment; resolves once it listens. */
export async function startGateway(
  env: NonNullable<ProcessOptions['env']>,
  options: Pick<ProcessOptions, 'cwd' | 'within'> & {
    readonly args?: readonly string[];
    readonly executable?: string | undefined;
  } = {},
): Promise<StartedGateway> {
  const { args = [], executable = SVC_GATEWAY, ...place } = options;
  const process = await startProcess(executable, args, { env, ...place });
  const line = await process.waitForLine((text) => text.includes('"event":"listening"'));
  const listening: StartedGateway['listening'] = JSON.parse(line);
  return { process, port: Number(listening['port']), listening };
}
