import type { RawKeyPair } from '@svc/protocol';
import type { CreatedKey } from '../auth/api-keys/create-key.ts';

// What the commands print: text that says where each value goes, or exactly one JSON object.

/** `file` is the file that already has the record. */
export function renderCreatedKey(created: CreatedKey, json: boolean, file?: string): string {
  const { apiKey, record } = created;
  if (json) return `${JSON.stringify({ api_key: apiKey, record })}\n`;
  const head = headOf(created);
  if (file !== undefined) {
    return `${head}
Its record is in ${file}. A gateway whose GATEWAY_API_KEYS_FILE names this file takes the key
within three seconds.
`;
  }
  // An apostrophe would end the single quotes; JSON can spell it without one.
  const recordText = JSON.stringify(record).replaceAll("'", '\\u0027');
  return `${head}
Record for the gateway: add it to the JSON array in the file of GATEWAY_API_KEYS_FILE or to
api_keys of a service, with a comma between records; the gateway notices by itself. Or add it
to GATEWAY_API_KEYS_JSON, then restart the gateway:

  ${recordText}

As the only record, ready for a shell or for --env-file. The single quotes matter, because
the hash contains $ characters:

  GATEWAY_API_KEYS_JSON='[${recordText}]'
`;
}

function headOf({ apiKey, record }: CreatedKey): string {
  const expiry = record.expires_at === undefined ? '' : `\nFrom ${record.expires_at} on it is refused.\n`;
  return `API key of "${record.name}". It is shown only now and stored nowhere; give it to the caller:

  ${apiKey}
${expiry}
The caller sends it with each request, in one of two headers:

  Authorization: Bearer <key>
  X-API-Key: <key>
`;
}

/** `keyIds`: of the records in the settings; undefined if the settings have no records to look into. */
export function renderRevokedKey(
  {
    keyId,
    again,
    keyIds,
  }: { readonly keyId: string; readonly again: boolean; readonly keyIds: readonly string[] | undefined },
  json: boolean,
): string {
  const known = keyIds?.includes(keyId);
  if (json) {
    return `${JSON.stringify({ key_id: keyId, revoked_before: again, record_found: known ?? null })}\n`;
  }
  const unknown =
    known === false
      ? `
No record in the settings read here has this key_id; see that it is spelt as in the record, letter by letter.
`
      : '';
  return `The key with key_id ${keyId} ${again ? 'was revoked before, and still is' : 'is revoked'}: every gateway that shares this
Valkey and prefix refuses it within three seconds.
${unknown}
Now remove its record as well, from GATEWAY_API_KEYS_JSON or the file with the records: a gateway that
starts while Valkey is away does not know what is revoked, and after half a minute lets the key in.
`;
}

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

export function renderConsoleToken(
  { token, sha256 }: { readonly token: string; readonly sha256: string },
  json: boolean,
): string {
  if (json) return `${JSON.stringify({ console_token: token, console_token_sha256: sha256 })}\n`;
  return `Token of the console. It is shown only now and stored nowhere; give it to operators:

  ${token}

For the gateway, then restart it:

  GATEWAY_CONSOLE_ADDR=127.0.0.1:9091
  GATEWAY_CONSOLE_TOKEN_SHA256=${sha256}

Open the console on that machine, or over ssh -L 9091:127.0.0.1:9091; the token goes to no server:

  http://127.0.0.1:9091/console/#token=${token}
`;
}
