import { readFile, writeFile } from 'node:fs/promises';
import { runProcess } from '../packages/testkit/src/index.ts';

export interface Credentials {
  readonly agentPrivateKey: string;
  readonly agentPublicKey: string;
  readonly apiKey: string;
  /** For GATEWAY_API_KEYS_JSON. */
  readonly record: unknown;
}

/**
 * An agent's key pair and a caller's key that may call everything: those of an earlier start if `file`
 * has them, otherwise made by the commands of `gateway`, as an operator would make them.
 */
export async function credentialsIn(file: string, gateway: string): Promise<Credentials> {
  const known = await readFile(file, 'utf8').catch(() => undefined);
  const text = known ?? JSON.stringify(await create(gateway));
  if (known === undefined) await writeFile(file, text, { mode: 0o600 });
  const fields = parseObject(text, file);
  return {
    agentPrivateKey: stringField(fields, 'agent_private_key'),
    agentPublicKey: stringField(fields, 'agent_public_key'),
    apiKey: stringField(fields, 'api_key'),
    record: fields.get('record'),
  };
}

async function create(gateway: string): Promise<Record<string, unknown>> {
  const [agent, key] = await Promise.all([
    runJson(gateway, ['create-agent-secret', '--json']),
    runJson(gateway, ['create-key', '--name', 'demo', '--capabilities', '*', '--json']),
  ]);
  return Object.fromEntries([...agent, ...key]);
}

async function runJson(gateway: string, args: readonly string[]): Promise<ReadonlyMap<string, unknown>> {
  const { code, stdout, stderr } = await runProcess(process.execPath, [gateway, ...args]);
  if (code !== 0) throw new Error(`cannot run svc-gateway ${args[0]}: it ended with ${code}\n${stderr}`);
  return parseObject(stdout, `the output of svc-gateway ${args[0]}`);
}

function parseObject(text: string, where: string): ReadonlyMap<string, unknown> {
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== 'object' || parsed === null) throw new Error(`cannot use ${where}: no JSON object`);
  return new Map(Object.entries(parsed));
}

function stringField(fields: ReadonlyMap<string, unknown>, name: string): string {
  const value = fields.get(name);
  if (typeof value !== 'string') throw new Error(`cannot start: no ${name} among the demo's credentials`);
  return value;
}
