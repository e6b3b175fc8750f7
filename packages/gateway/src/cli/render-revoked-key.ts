/** What `revoke-key` prints: text that says what is still to be done, or exactly one JSON object. */
export function renderRevokedKey(
  {
    keyId,
    again,
    keyIds,
  }: {
    readonly keyId: string;
    /** Whether it was revoked before. */
    readonly again: boolean;
    /** Of the records in the settings; undefined where these have none to look into. */
    readonly keyIds: readonly string[] | undefined;
  },
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
