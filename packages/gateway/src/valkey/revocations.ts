import type { ValkeyConfig } from '../config/model.ts';
import { keepValkeyConnection, type ValkeyClient } from './valkey-connection.ts';

/** What a process knows about revoked keys. */
export interface Revocations {
  /** False until the list has been read once, or could not be read for half a minute. */
  readonly known: boolean;
  /** Key ids. The set only grows, except that it drops keys without a record. */
  readonly revoked: ReadonlySet<string>;
  /** Whether the connection to Valkey is up. */
  readonly up: boolean;
  /** To be called when the key records have changed. */
  recordsChanged(): void;
  close(): void;
}

/** The list: a hash from key ids to the times of their revocation. */
export const listName = (prefix: string): string => `${prefix}revoked`;
/** The channel that announces each key id when it is revoked. */
export const channelName = (prefix: string): string => `${prefix}revocations`;

/** Of the list, and of any other answer. */
export const ANSWER_BYTES = 1_048_576;

const POLL_MS = 2000;
/** May be long: no call waits for the list. */
const ANSWER_MS = 1000;
/** How long a gateway that has never read the list refuses all keys. */
const GRACE_MS = 30_000;
const REMIND_MS = 60_000;

/** Reads the list of revoked keys at once and every two seconds, and hears of each revocation in between. */
export function keepRevocations(options: {
  readonly valkey: ValkeyConfig;
  /** Whether a record has this key id. */
  readonly hasRecord: (keyId: string) => boolean;
  /** Also called when the list becomes known, or keys are accepted without it. */
  readonly onChange: (revocations: Revocations) => void;
  /** Keys are accepted without the list. */
  readonly onUnknown: (reason: string) => void;
}): Revocations {
  const { valkey, hasRecord, onChange, onUnknown } = options;
  const channel = channelName(valkey.prefix);
  let state: 'unread' | 'unknown' | 'read' = 'unread';
  let revoked: ReadonlySet<string> = new Set();
  let listed: ReadonlySet<string> = new Set();
  const heard: string[] = [];
  let problem = 'not connected yet';
  let reminder: NodeJS.Timeout | undefined;

  function change(next: ReadonlySet<string>): void {
    const same = next.size === revoked.size && [...next].every((keyId) => revoked.has(keyId));
    if (same && state === 'read') return;
    state = 'read';
    clearInterval(reminder);
    revoked = next;
    onChange(kept);
  }

  async function read(client: ValkeyClient): Promise<void> {
    const keyIds: unknown = await client.hKeys(listName(valkey.prefix));
    if (!Array.isArray(keyIds)) throw new Error('an answer that is not a list');
    listed = new Set(keyIds.map(String));
    // A revoked key stays revoked, even if the list has lost it.
    change(new Set([...listed, ...[...revoked].filter(hasRecord)]));
  }

  /** Messages that arrive together change the list once, as each change goes through all of it. */
  function hear(keyId: string): void {
    heard.push(keyId);
    if (heard.length > 1) return;
    setImmediate(() => {
      const keyIds = heard.splice(0);
      if (state === 'read') change(new Set([...revoked, ...keyIds]));
    });
  }

  const connection = keepValkeyConnection({
    valkey,
    bounds: { answerBytes: ANSWER_BYTES, channel },
    answerMs: ANSWER_MS,
    tries: 1,
    async probe(client) {
      // Before the list is read, so that no revocation is missed in between.
      await client.subscribe(channel, hear);
      await read(client);
    },
    onUp: () => undefined,
    onLost: (reason) => (problem = reason),
  });
  const poll = setInterval(() => void connection.ask(read), POLL_MS).unref();
  reminder = setTimeout(() => {
    if (state !== 'unread') return;
    state = 'unknown';
    onUnknown(problem);
    onChange(kept);
    reminder = setInterval(() => onUnknown(problem), REMIND_MS).unref();
  }, GRACE_MS).unref();

  const kept: Revocations = {
    get known() {
      return state !== 'unread';
    },
    get revoked() {
      return revoked;
    },
    get up() {
      return connection.up;
    },
    recordsChanged() {
      const next = [...revoked].filter((keyId) => listed.has(keyId) || hasRecord(keyId));
      if (next.length < revoked.size) revoked = new Set(next);
    },
    close() {
      clearInterval(poll);
      clearTimeout(reminder);
      connection.close();
    },
  };
  return kept;
}
