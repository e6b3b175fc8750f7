import type { ValkeyConfig } from '../config/model.ts';
import { ANSWER_BYTES, channelName, listName } from './revocations.ts';
import { connectToValkey, valkeyProblem } from './valkey-connection.ts';

/** `again`: the key was revoked before. */
export type RevokedKey =
  | { readonly revoked: true; readonly again: boolean }
  | { readonly revoked: false; readonly reason: string };

const ANSWER_MS = 5000;

/** Adds a key id to the list of revoked keys, for good, and announces it to all gateways. */
export async function revokeKey(valkey: ValkeyConfig, keyId: string): Promise<RevokedKey> {
  try {
    const client = await connectToValkey(valkey, ANSWER_MS, { answerBytes: ANSWER_BYTES });
    try {
      const added = await client.hSetNX(listName(valkey.prefix), keyId, new Date().toISOString());
      await client.publish(channelName(valkey.prefix), keyId);
      return { revoked: true, again: added === 0 };
    } finally {
      client.destroy();
    }
  } catch (error) {
    return { revoked: false, reason: valkeyProblem(error) };
  }
}
