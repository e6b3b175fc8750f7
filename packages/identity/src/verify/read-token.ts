import { JsonError, parseStrictJson } from '@svc/protocol';
import type { Issuer } from '../model/issuer.ts';
import { isObject, type JsonObject } from '../model/json-object.ts';
import { normalizeType } from '../model/token-type.ts';
import type { TokenFailure } from '../model/verified-token.ts';

/** A token whose signature is still to be verified: nothing that it says is known to be true. */
export interface UnverifiedToken {
  /** The one whose keys decide; the token only names it. */
  readonly issuer: Issuer;
  readonly alg: string;
  readonly kid: string | undefined;
  readonly payload: JsonObject;
  readonly signedBytes: Uint8Array;
  readonly signature: Uint8Array;
}

/** Three parts; longer and shorter forms are encrypted or opaque tokens. */
const COMPACT = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/;
/** Reads a token and judges what comes before its signature. Keys that a token brings along are not looked at. */
export function readToken(
  token: string,
  issuers: ReadonlyMap<string, Issuer>,
): UnverifiedToken | TokenFailure {
  const [, headerText = '', payloadText = '', signatureText = ''] = COMPACT.exec(token) ?? [];
  const header = parseObject(decode(headerText));
  const payload = parseObject(decode(payloadText));
  const signature = decode(signatureText);
  if (header === undefined || payload === undefined || signature === undefined) return 'malformed';

  const { alg, kid, typ = '' } = header;
  if (kid !== undefined && typeof kid !== 'string') return 'malformed';
  const issuer = typeof payload['iss'] === 'string' ? issuers.get(payload['iss']) : undefined;
  if (issuer === undefined) return 'unknown_issuer';
  if (typeof alg !== 'string' || !issuer.algorithms.includes(alg)) return 'algorithm';
  if (typeof typ !== 'string' || !issuer.types.includes(normalizeType(typ))) return 'type';
  // Both change what the signature means, in ways that are not known here.
  if (Object.hasOwn(header, 'crit') || Object.hasOwn(header, 'b64')) return 'critical_header';
  const signedBytes = Buffer.from(token.slice(0, headerText.length + 1 + payloadText.length), 'latin1');
  return { issuer, alg, kid, payload, signedBytes, signature };
}

function decode(text: string): Uint8Array | undefined {
  return isStrictBase64url(text) ? Buffer.from(text, 'base64url') : undefined;
}

/**
 * The last character may hold bits that belong to no byte. Where they were not zero, one token would have several
 * spellings.
 */
function isStrictBase64url(text: string): boolean {
  switch (text.length % 4) {
    case 0:
      return true;
    case 2:
      return /[AQgw]$/.test(text);
    case 3:
      return /[AEIMQUYcgkosw048]$/.test(text);
    default:
      return false;
  }
}

function parseObject(bytes: Uint8Array | undefined): JsonObject | undefined {
  if (bytes === undefined) return undefined;
  try {
    const value = parseStrictJson(bytes);
    return isObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}
