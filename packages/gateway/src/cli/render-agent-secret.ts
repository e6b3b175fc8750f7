import type { RawKeyPair } from '@svc/protocol';

/** What `create-agent-secret` prints: text that says where each value goes, or exactly one JSON object. */
export function renderAgentSecret({ seed, publicKey }: RawKeyPair, json: boolean): string {
  if (json) {
    return `${JSON.stringify({ agent_private_key: seed, agent_public_key: publicKey })}\n`;
  }
  return `Private key, for the agent only: gateway.agent_private_key in capability.yaml. It is shown only
now and stored nowhere:

  gateway:
    agent_private_key: "${seed}"

Public key, for the gateway: agent_public_keys of a service in GATEWAY_SERVICES_FILE, or
GATEWAY_AGENT_PUBLIC_KEY in its environment, then restart it (several keys are separated by
commas):

  GATEWAY_AGENT_PUBLIC_KEY=${publicKey}
`;
}
