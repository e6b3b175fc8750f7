import { generateKeyPairSync } from 'node:crypto';
import { rawPublicKey } from '@svc/protocol';

export interface AgentSecret {
  /** Base64url of the 32-byte Ed25519 seed, for `gateway.agent_private_key`. */
  readonly agentPrivateKey: string;
  /** Base64url of the 32 raw bytes, for GATEWAY_AGENT_PUBLIC_KEY. */
  readonly agentPublicKey: string;
}

export function createAgentSecret(): AgentSecret {
  const { privateKey } = generateKeyPairSync('ed25519');
  const { d: seed } = privateKey.export({ format: 'jwk' });
  if (seed === undefined) throw new Error('cannot create a key pair: the private key has no seed');
  return { agentPrivateKey: seed, agentPublicKey: rawPublicKey(privateKey).toString('base64url') };
}
