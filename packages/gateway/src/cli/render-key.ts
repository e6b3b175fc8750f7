import type { CreatedKey } from '../auth/api-keys/create-key.ts';

/**
 * What `create-key` prints: text that says where each value goes, or exactly one JSON object. `file` is the one that holds the
 * record already.
 */
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
