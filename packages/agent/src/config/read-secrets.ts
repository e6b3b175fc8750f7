import { X509Certificate } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { readProblem, readTraces, type TracesConfig } from '@svc/edge';
import { privateKeyFromSeed, rawPublicKey } from '@svc/protocol';
import { sectionOf } from '../capabilities/database-names.ts';
import { isRecord } from '../capabilities/is-record.ts';
import { driverOf } from '../databases/drivers.ts';
import { databaseNamesOf, driverNameOf } from './driver-of-file.ts';
import type { FaultLog } from './fault-log.ts';
import { valueAt, type Path } from './path.ts';

export interface FileSource {
  /** Of the capability file; the files that it names are relative to its folder. */
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Throws what `fs.readFileSync` throws. */
  readonly readFile: (path: string) => Uint8Array;
}

/** What the file keeps in other files or in variables, and its secrets; undefined if absent or at fault. */
export interface FileSecrets {
  readonly privateKeySeed: Uint8Array | undefined;
  readonly gatewayCa: string | undefined;
  readonly proxyCa: string | undefined;
  readonly traces: TracesConfig | undefined;
  /** Secrets and certificates of each database's section, by their keys. */
  readonly databases: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export function readSecrets(root: unknown, source: FileSource, faults: FaultLog): FileSecrets {
  /** The text of the file that a setting names. */
  function readNamed(path: Path): string | undefined {
    const name = valueAt(root, path);
    if (typeof name !== 'string' || name === '' || faults.has(path)) return undefined;
    try {
      return decode(source.readFile(resolve(dirname(source.path), name)));
    } catch (error) {
      // As written: the name may hold the value of an environment variable.
      faults.add(path, `cannot read \`${faults.placeOf(path)?.written ?? name}\`: ${readProblem(error)}`);
      return undefined;
    }
  }

  function readCertificate(path: Path): string | undefined {
    const pem = readNamed(path);
    if (pem === undefined) return undefined;
    try {
      void new X509Certificate(pem);
      return pem;
    } catch {
      faults.add(path, 'must name a file of PEM certificates');
      return undefined;
    }
  }

  /** A secret that stands in the file or in one of its own, with the path of the setting that gives it. */
  function readSecret(path: Path): { readonly text: string; readonly path: Path } | undefined {
    const section = valueAt(root, path.slice(0, -1));
    if (!isRecord(section)) return undefined;
    const name = path.at(-1) ?? '';
    const filePath = [...path.slice(0, -1), `${name}_file`];
    const inline = section[name];
    if (section[`${name}_file`] === undefined) {
      if (inline === undefined) faults.add(path, `is required; or give \`${name}_file\``);
      return typeof inline === 'string' ? { text: inline, path } : undefined;
    }
    if (inline !== undefined) {
      faults.addForKey(filePath, `\`${name}\` and \`${name}_file\` are both given: remove one of them`);
      return undefined;
    }
    const text = readNamed(filePath);
    // Editors and `echo` end a file with a line break that is no part of the secret.
    return text === undefined ? undefined : { text: text.replace(/\r?\n$/, ''), path: filePath };
  }

  function readPrivateKey(): Uint8Array | undefined {
    const secret = readSecret(['gateway', 'agent_private_key']);
    if (secret === undefined) return undefined;
    const key = parsePrivateKey(secret.text);
    if ('seed' in key) return key.seed;
    faults.add(secret.path, key.problem);
    return undefined;
  }

  function readDatabaseTexts(section: Path): Readonly<Record<string, string>> {
    const { secrets, certificates } = driverOf(driverNameOf(root, section));
    const texts = [
      ...secrets.map((key) => [key, readSecret([...section, key])?.text] as const),
      ...certificates.map((key) => [key, readCertificate([...section, key])] as const),
    ];
    return Object.fromEntries(texts.flatMap(([key, text]) => (text === undefined ? [] : [[key, text]])));
  }

  const privateKeySeed = readPrivateKey();
  const gatewayCa = readCertificate(['gateway', 'ca_file']);
  const proxyCa = readCertificate(['gateway', 'proxy_ca_file']);
  const headersText = readNamed(['telemetry', 'headers_file']);
  const databases = Object.fromEntries(
    databaseNamesOf(root).map((name) => [name, readDatabaseTexts(sectionOf(name))]),
  );
  const traces = readTraceSettings(root, source, headersText, faults);
  return { privateKeySeed, gatewayCa, proxyCa, traces, databases };
}

const SEED_BYTES = 32;

/** Reads an Ed25519 private key: base64url of the 32-byte seed, or of seed and public key. */
export function parsePrivateKey(text: string): { readonly seed: Uint8Array } | { readonly problem: string } {
  const bytes = Buffer.from(text, 'base64url');
  const isProper = bytes.toString('base64url') === text;
  if (!isProper || (bytes.length !== SEED_BYTES && bytes.length !== 2 * SEED_BYTES)) {
    return {
      problem:
        'must be a base64url Ed25519 private key of 43 or 86 characters, as `svc-gateway create-agent-secret` prints it',
    };
  }
  const seed = new Uint8Array(bytes.subarray(0, SEED_BYTES));
  const publicKey = bytes.subarray(SEED_BYTES);
  if (publicKey.length > 0 && !rawPublicKey(privateKeyFromSeed(seed)).equals(publicKey))
    return { problem: 'holds a public key that does not belong to its private key' };
  return { seed };
}

/**
 * `telemetry`, and OpenTelemetry's own variables only if the section asks for traces: clusters set those variables in every
 * process.
 */
function readTraceSettings(
  root: unknown,
  { env, readFile }: FileSource,
  headersText: string | undefined,
  faults: FaultLog,
): TracesConfig | undefined {
  const path = ['telemetry', 'traces'];
  const file = ['telemetry', 'headers_file'];
  if (valueAt(root, path) !== 'otlp') {
    if (valueAt(root, file) !== undefined) faults.addForKey(file, 'is of no use without `traces: otlp`');
    return undefined;
  }
  const readText = (name: string): string => decode(readFile(name));
  const { config, faults: found } = readTraces({
    env,
    readFile: readText,
    serviceName: 'svc-agent',
    headersText,
  });
  const ofFile = found.find(({ variable }) => variable === undefined);
  if (ofFile !== undefined) faults.add(file, ofFile.message);
  const ofVariables = found.filter((fault) => fault !== ofFile);
  if (ofVariables.length > 0)
    faults.add(path, ofVariables.map(({ variable, message }) => `${variable} ${message}`).join('; '));
  return config;
}

/** Throws if the bytes are no UTF-8. */
function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}
