import { sign, verify } from 'node:crypto';
import { privateKeyFromSeed, publicKeyFromRaw } from '@svc/protocol';
import { expect, it } from 'vitest';
import { parseAgentPublicKey } from '../config/services/agent-public-key.ts';
import { createAgentSecret } from './create-agent-secret.ts';

it('makes two halves of one key pair, in the forms that both settings take', () => {
  const { agentPrivateKey, agentPublicKey } = createAgentSecret();
  const publicKey = parseAgentPublicKey(agentPublicKey);
  if (!publicKey.ok) throw new Error(publicKey.problems.join());
  const message = Buffer.from('message');
  const signature = sign(null, message, privateKeyFromSeed(Buffer.from(agentPrivateKey, 'base64url')));
  expect(verify(null, message, publicKeyFromRaw(publicKey.value), signature)).toBe(true);
  expect(createAgentSecret().agentPrivateKey).not.toBe(agentPrivateKey);
});
