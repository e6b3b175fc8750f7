import { JsonError, parseStrictJson } from '@svc/protocol';
import { importJWK, type JWK } from 'jose';
import { isObject, type JsonObject } from '../model/json-object.ts';
import { ALGORITHMS } from './algorithms.ts';
import { KeysProblem } from './keys-problem.ts';
import type { VerificationKey } from './known-keys.ts';

const MAX_KEYS = 100;
const RSA_BITS = { least: 2048, most: 4096 };
/** 32 bits as base64url. A signature takes as long to verify as the exponent has bits. */
const RSA_EXPONENT_MAX_LENGTH = 6;

export interface ImportedKeys {
  /** One for each key and algorithm that it may be used with. */
  readonly keys: readonly VerificationKey[];
  /** How many entries of the set can be used, and how many cannot. */
  readonly used: number;
  readonly leftOut: number;
}

/** Reads a JSON Web Key Set. What cannot be used with one of `algorithms` is left out. Throws KeysProblem. */
export async function importKeys(bytes: Uint8Array, algorithms: readonly string[]): Promise<ImportedKeys> {
  const entries = readKeySet(bytes);
  const imported = await Promise.all(entries.map(async (entry) => importKey(entry, algorithms)));
  const used = imported.filter((keys) => keys.length > 0).length;
  // Two entries of one key are one key, not two that fit.
  const keys = new Map(imported.flat().map((key) => [key.fingerprint, key]));
  return { keys: [...keys.values()], used, leftOut: entries.length - used };
}

function readKeySet(bytes: Uint8Array): readonly unknown[] {
  let set: unknown;
  try {
    set = parseStrictJson(bytes);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new KeysProblem(`the key set is refused: ${error.message}`);
  }
  const entries: unknown = isObject(set) ? set['keys'] : undefined;
  if (!Array.isArray(entries)) throw new KeysProblem('the key set has no list of keys');
  if (entries.length > MAX_KEYS) {
    throw new KeysProblem(`the key set has ${entries.length} keys; accepted: at most ${MAX_KEYS}`);
  }
  return entries;
}

async function importKey(entry: unknown, algorithms: readonly string[]): Promise<readonly VerificationKey[]> {
  if (!isObject(entry) || !isForSignatures(entry)) return [];
  const keys = algorithms.filter((alg) => fits(entry, alg)).map(async (alg) => importFor(entry, alg));
  return (await Promise.all(keys)).filter((key) => key !== undefined);
}

/** A set that publishes a private key gives it to everybody, so signatures of that key prove nothing. */
function isForSignatures({ use, key_ops: operations, d }: JsonObject): boolean {
  if (use !== undefined && use !== 'sig') return false;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) return false;
  return d === undefined;
}

function fits(entry: JsonObject, alg: string): boolean {
  if (entry['kty'] !== ALGORITHMS.get(alg)?.kty) return false;
  return entry['alg'] === undefined || entry['alg'] === alg;
}

async function importFor(entry: JsonObject, alg: string): Promise<VerificationKey | undefined> {
  const { kid } = entry;
  const kty = ALGORITHMS.get(alg)?.kty;
  if (kty === undefined || (kid !== undefined && typeof kid !== 'string')) return undefined;
  const jwk: JWK = { kty };
  for (const name of ['crv', 'n', 'e', 'x', 'y'] as const) {
    const value = entry[name];
    if (typeof value === 'string') jwk[name] = value;
  }
  try {
    const key = await importJWK(jwk, alg);
    if (key instanceof Uint8Array || !isStrong(key.algorithm, jwk.e)) return undefined;
    return { kid, alg, key, fingerprint: JSON.stringify([alg, kid, jwk]), retired: false };
  } catch {
    // Values that are no key: the others of the set are not to blame.
    return undefined;
  }
}

/** A key as another process has it in its set; undefined for what is none. */
export async function importFingerprint(fingerprint: string): Promise<VerificationKey | undefined> {
  const [alg, kid, jwk]: [string, string | null, JWK] = JSON.parse(fingerprint);
  return importFor({ ...jwk, ...(kid === null ? {} : { kid }) }, alg);
}

/** Short keys can be broken. With long keys each forged token costs much CPU. */
function isStrong(algorithm: { readonly name: string; readonly modulusLength?: number }, e = ''): boolean {
  const { modulusLength: bits } = algorithm;
  if (bits === undefined) return true;
  return bits >= RSA_BITS.least && bits <= RSA_BITS.most && e.length <= RSA_EXPONENT_MAX_LENGTH;
}
