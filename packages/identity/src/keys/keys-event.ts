/** What has changed about the keys of an issuer, as both logs have it: told when it changes, not at each fetch. */
export type KeysEvent =
  | {
      readonly event: 'keys_fetched';
      readonly issuer: string;
      readonly keys: number;
      /** Keys of the set that cannot be used: encryption, shared secrets, unknown or weak kinds. */
      readonly left_out: number;
    }
  | {
      readonly event: 'keys_fetch_failed';
      readonly issuer: string;
      /** One line, with nothing of the keys. */
      readonly reason: string;
      /** Whether the last good keys still serve; otherwise its tokens cannot be verified. */
      readonly keys_serve: boolean;
    };
