import { randomBytes } from 'node:crypto';
import { hash } from 'bcryptjs';
import { createKeyPair } from './key-pair.ts';

export interface AgentSecret {
  readonly agent_private_key: string;
  readonly agent_public_key: string;
}

export interface CreatedKey {
  readonly api_key: string;
  readonly record: Readonly<Record<string, unknown>>;
}

/** The bcrypt cost of the keys that `svc-gateway create-key` makes; for tests of what comparing them costs. */
export const COST_AS_CREATED = 10;
/** The least that the gateway accepts: each gateway of a test verifies each of its keys once. */
const CHEAPEST_COST = 4;

/** What `svc-gateway create-agent-secret --json` prints, made without starting it. */
export function createAgentSecret(): AgentSecret {
  const { d: seed, x: publicKey } = createKeyPair().privateKey.export({ format: 'jwk' });
  if (seed === undefined || publicKey === undefined) throw new Error('cannot create a key pair');
  return { agent_private_key: seed, agent_public_key: publicKey };
}

/** What `svc-gateway create-key --json` prints, made without starting it, `capabilities` being `*` or names separated by commas. */
export async function createKey(
  name: string,
  capabilities: string,
  { cost = CHEAPEST_COST }: { readonly cost?: number | undefined } = {},
): Promise<CreatedKey> {
  const keyId = randomBytes(6).toString('hex');
  const apiKey = `svc_${keyId}_${randomBytes(24).toString('hex')}`;
  const keyHash = await hash(apiKey, cost);
  const record = { name, key_id: keyId, key_hash: keyHash, capabilities: capabilities.split(',') };
  return { api_key: apiKey, record };
}
