import type { ValkeyConfig } from '../config/model.ts';
import { keepValkeyConnection, type ValkeyClient } from './valkey-connection.ts';

/** What a process knows of keys that were revoked. */
export interface Revocations {
  /** False until the list has been read for the first time, or could not be for half a minute. */
  readonly known: boolean;
  /** By key id. It only grows, but for keys that have left every source. */
  readonly revoked: ReadonlySet<string>;
}

export interface KeptRevocations extends Revocations {
  readonly up: boolean;
  /** To be called when the records of keys have changed. */
  recordsChanged(): void;
  close(): void;
}

/** The list: a hash from key id to the time at which it was revoked. */
export const listName = (prefix: string): string => `${prefix}revoked`;
/** Where each key id is told as it is revoked. */
export const channelName = (prefix: string): string => `${prefix}revocations`;

/** Of the list, and of any other answer. */
export const ANSWER_BYTES = 1_048_576;

const POLL_MS = 2000;
/** No call waits for it. */
const ANSWER_MS = 1000;
/** How long a gateway that has never read the list lets no key in. */
const GRACE_MS = 30_000;
const REMIND_MS = 60_000;

/** Reads the list of revoked keys at once, when it is told of one, and every two seconds. */
export function keepRevocations(options: {
  readonly valkey: ValkeyConfig;
  /** Whether there is a record with this key id. */
  readonly hasRecord: (keyId: string) => boolean;
  /** Also when the list becomes known, or keys have to be let in without it. */
  readonly onChange: (revocations: Revocations) => void;
  /** That keys are let in without it. */
  readonly onUnknown: (reason: string) => void;
}): KeptRevocations {
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
    if (!Array.isArray(keyIds)) throw new Error('an answer that is no list');
    listed = new Set(keyIds.map(String));
    // What was revoked stays so, whatever became of the list meanwhile.
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
      // Before the list is read, so that nothing is missed between.
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

  const kept: KeptRevocations = {
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
