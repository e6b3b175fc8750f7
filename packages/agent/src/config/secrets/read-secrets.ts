import { X509Certificate } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { readProblem } from '@svc/edge';
import { driverOf } from '../../databases/drivers.ts';
import { sectionOf } from '../../capabilities/database-names.ts';
import { databaseNamesOf, driverNameOf } from '../driver-of-file.ts';
import type { FaultLog } from '../fault-log.ts';
import { isRecord } from '../../capabilities/is-record.ts';
import { valueAt } from '../path.ts';
import type { Path } from '../path.ts';
import { parsePrivateKey } from './private-key.ts';

export type ReadFile = (path: string) => Uint8Array;

/** The secrets and certificates of the file; undefined where absent or at fault. */
export interface FileSecrets {
  readonly privateKeySeed: Uint8Array | undefined;
  readonly gatewayCa: string | undefined;
  readonly proxyCa: string | undefined;
  /** For the collector of traces. */
  readonly headersText: string | undefined;
  /** Of the section of each database, by their keys. */
  readonly databases: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Reads the secrets that stand in the file and those it names files for, relative to its own folder. */
export function readSecrets(
  root: unknown,
  configFile: string,
  readFile: ReadFile,
  faults: FaultLog,
): FileSecrets {
  const read = (path: Path): string | undefined => readNamed(root, path, configFile, readFile, faults);
  const readCertificate = (path: Path): string | undefined => checkCertificate(read(path), path, faults);
  return {
    privateKeySeed: readPrivateKey(readSecret(root, ['gateway', 'agent_private_key'], read, faults), faults),
    gatewayCa: readCertificate(['gateway', 'ca_file']),
    proxyCa: readCertificate(['gateway', 'proxy_ca_file']),
    headersText: read(['telemetry', 'headers_file']),
    databases: Object.fromEntries(
      databaseNamesOf(root).map((name) => [name, readDatabaseTexts(root, sectionOf(name), read, faults)]),
    ),
  };
}

function readDatabaseTexts(
  root: unknown,
  section: Path,
  read: (path: Path) => string | undefined,
  faults: FaultLog,
): Readonly<Record<string, string>> {
  const { secrets, certificates } = driverOf(driverNameOf(root, section));
  const texts = [
    ...secrets.map((key) => [key, readSecret(root, [...section, key], read, faults)?.text] as const),
    ...certificates.map((key) => {
      const path = [...section, key];
      return [key, checkCertificate(read(path), path, faults)] as const;
    }),
  ];
  return Object.fromEntries(texts.flatMap(([key, text]) => (text === undefined ? [] : [[key, text]])));
}

interface Secret {
  readonly text: string;
  /** Of the setting that it came from. */
  readonly path: Path;
}

function readSecret(
  root: unknown,
  path: Path,
  read: (path: Path) => string | undefined,
  faults: FaultLog,
): Secret | undefined {
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
  const text = read(filePath);
  // Editors and `echo` end a file with a line break that is no part of the secret.
  return text === undefined ? undefined : { text: text.replace(/\r?\n$/, ''), path: filePath };
}

function readPrivateKey(secret: Secret | undefined, faults: FaultLog): Uint8Array | undefined {
  if (secret === undefined) return undefined;
  const key = parsePrivateKey(secret.text);
  if ('seed' in key) return key.seed;
  faults.add(secret.path, key.problem);
  return undefined;
}

function checkCertificate(pem: string | undefined, path: Path, faults: FaultLog): string | undefined {
  if (pem === undefined) return undefined;
  try {
    void new X509Certificate(pem);
    return pem;
  } catch {
    faults.add(path, 'must name a file of PEM certificates');
    return undefined;
  }
}

function readNamed(
  root: unknown,
  path: Path,
  configFile: string,
  readFile: ReadFile,
  faults: FaultLog,
): string | undefined {
  const name = valueAt(root, path);
  if (typeof name !== 'string' || name === '' || faults.has(path)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFile(resolve(dirname(configFile), name)));
  } catch (error) {
    // As written: the name may hold the value of an environment variable.
    faults.add(path, `cannot read \`${faults.placeOf(path)?.written ?? name}\`: ${readProblem(error)}`);
    return undefined;
  }
}
