import { createSign, type KeyObject } from 'node:crypto';
import { createKeyPair } from '@svc/testkit';
import { readDocuments, type Block } from './documents.ts';

/** A token as an identity provider makes it, made up, and the record that a guide has for it. */
export interface LookAlike {
  /** Document and line, for messages. */
  readonly at: string;
  /** As in GATEWAY_ISSUERS_JSON. */
  readonly record: Readonly<Record<string, unknown>>;
  readonly header: Readonly<Record<string, unknown>>;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** What the guides have of `kind`, which is language and mark, such as `json issuers`. */
export function blocksOfKind(kind: string): readonly Block[] {
  return readDocuments()
    .flatMap(({ blocks }) => blocks)
    .filter(({ language, mark }) => `${language} ${mark}`.trim() === kind);
}

/** The tokens of the guides for issuers. A token belongs to the record above it. */
export function readLookAlikes(): readonly LookAlike[] {
  return readDocuments().flatMap(({ blocks }) => {
    let record: LookAlike['record'] = {};
    return blocks.flatMap(({ at, language, mark, text }) => {
      if (language !== 'json') return [];
      if (mark === 'issuers') [record] = JSON.parse(text);
      if (mark !== 'token') return [];
      const { header, payload }: Pick<LookAlike, 'header' | 'payload'> = JSON.parse(text);
      return [{ at, record, header, payload }];
    });
  });
}

/** A key that signs look-alikes, which all are RS256, and the set of keys that its issuer would publish. */
export interface LookAlikeKey {
  readonly keySet: string;
  sign(header: object, payload: object): string;
}

export function createLookAlikeKey(kid: string): LookAlikeKey {
  const { publicKey, privateKey } = createKeyPair('RS256');
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' };
  return {
    keySet: JSON.stringify({ keys: [jwk] }),
    sign: (header, payload) => signRs256(privateKey, header, payload),
  };
}

function signRs256(key: KeyObject, ...parts: readonly object[]): string {
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${signed}.${createSign('sha256').update(signed).sign(key).toString('base64url')}`;
}
