import { readFile, stat } from 'node:fs/promises';
import { errorText, readProblem } from '@svc/edge';
import { JsonError, parseStrictJson } from '@svc/protocol';
import type { Issuer } from '../model/issuer.ts';
import { isObject, type JsonObject } from '../model/json-object.ts';
import { FETCH_MAX_BYTES, createHttpsFetch, type FetchBytes } from './https-fetch.ts';
import { importKeys, type ImportedKeys } from './import-keys.ts';
import { KeysProblem } from './keys-problem.ts';
import { createKeySet, type FollowedKeySet, type KeySetOptions } from './key-set.ts';

/** What discovery names may be as long as its document. */
const SHOWN_URL_LENGTH = 200;

export async function fetchKeys(
  issuer: Issuer,
  fetchBytes: FetchBytes,
  signal: AbortSignal,
): Promise<ImportedKeys> {
  const { keySource } = issuer;
  switch (keySource.kind) {
    case 'file':
      return importKeys(await readKeyFile(keySource.path, signal), issuer.algorithms);
    case 'uri':
      return importKeys(await fetchFrom(keySource.uri, fetchBytes, signal), issuer.algorithms);
    case 'discovery': {
      const uri = await discover(issuer.issuer, fetchBytes, signal);
      return importKeys(await fetchFrom(uri, fetchBytes, signal), issuer.algorithms);
    }
  }
}

async function readKeyFile(path: string, signal: AbortSignal): Promise<Uint8Array> {
  try {
    const found = await stat(path);
    // What is no file, a pipe for one, may give bytes without end, or hold the reader for ever.
    if (!found.isFile()) throw new KeysProblem('jwks_file is no file');
    if (found.size > FETCH_MAX_BYTES)
      throw new KeysProblem(`jwks_file has more than ${FETCH_MAX_BYTES} bytes`);
    return await readFile(path, { signal });
  } catch (error) {
    if (error instanceof KeysProblem) throw error;
    throw new KeysProblem(`jwks_file cannot be read: ${readProblem(error)}`);
  }
}

async function fetchFrom(url: string, fetchBytes: FetchBytes, signal: AbortSignal): Promise<Uint8Array> {
  try {
    return await fetchBytes(url, signal);
  } catch (error) {
    const shown = url.slice(0, SHOWN_URL_LENGTH);
    if (error instanceof KeysProblem) throw new KeysProblem(`${shown} ${error.message}`, error.status);
    const reason = signal.aborted ? 'no answer in time' : errorText(error);
    throw new KeysProblem(`${shown} cannot be fetched: ${reason}`);
  }
}

async function discover(issuer: string, fetchBytes: FetchBytes, signal: AbortSignal): Promise<string> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  // OpenID Connect has its name behind the path of the issuer, RFC 8414 before it.
  const urls = [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
  const [first = '', second = ''] = urls;
  const metadata = await fetchMetadata(first, fetchBytes, signal).catch(async (error: unknown) => {
    const isElsewhere = error instanceof KeysProblem && error.status !== undefined;
    if (!isElsewhere) throw error;
    return fetchMetadata(second, fetchBytes, signal);
  });
  // Whoever may answer for a path of a shared host could otherwise speak for another issuer there.
  if (metadata['issuer'] !== issuer) throw new KeysProblem('discovery names another issuer');
  const { jwks_uri: uri } = metadata;
  if (typeof uri !== 'string' || !URL.canParse(uri)) throw new KeysProblem('discovery names no jwks_uri');
  return uri;
}

async function fetchMetadata(url: string, fetchBytes: FetchBytes, signal: AbortSignal): Promise<JsonObject> {
  const bytes = await fetchFrom(url, fetchBytes, signal);
  try {
    const metadata = parseStrictJson(bytes);
    if (isObject(metadata)) return metadata;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
  }
  throw new KeysProblem(`${url} answered with something else than a JSON object`);
}

/** A file on this machine is looked at oftener than issuers are asked. */
const FILE_REFRESH_MS = 60_000;

export function fetchKeySet(
  issuer: Issuer,
  fetchBytes: FetchBytes,
  options: Omit<KeySetOptions, 'name' | 'fetch'>,
): FollowedKeySet {
  return createKeySet({
    ...options,
    name: issuer.name,
    fetch: async (signal) => fetchKeys(issuer, fetchBytes, signal),
    refreshMs: issuer.keySource.kind === 'file' ? FILE_REFRESH_MS : options.refreshMs,
  });
}

const DEADLINE_MS = 5000;

/** What is wrong with the issuer's `jwks_file`; undefined where it has keys to verify with, or there is no such file. */
export async function keyFileProblem(issuer: Issuer): Promise<string | undefined> {
  if (issuer.keySource.kind !== 'file') return undefined;
  try {
    const { used } = await fetchKeys(
      issuer,
      createHttpsFetch(() => undefined),
      AbortSignal.timeout(DEADLINE_MS),
    );
    return used > 0 ? undefined : 'jwks_file has no key that can be used with `algorithms`';
  } catch (error) {
    if (error instanceof KeysProblem) return error.message;
    throw error;
  }
}
