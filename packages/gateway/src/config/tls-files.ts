import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readProblem } from '@svc/edge';
import type { Fault } from './fault.ts';

export type ReadFile = (path: string) => string;
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** Reads GATEWAY_TLS_CERT_FILE and GATEWAY_TLS_KEY_FILE; faults are added to `faults`. */
export function readTlsFiles(
  certFile: string | undefined,
  keyFile: string | undefined,
  readFile: ReadFile,
  faults: Fault[],
): TlsFiles | undefined {
  const add = (setting: string, message: string): void => void faults.push({ setting, message });
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined)
    add('GATEWAY_TLS_CERT_FILE', 'is missing beside GATEWAY_TLS_KEY_FILE; accepted: both or neither');
  if (keyFile === undefined)
    add('GATEWAY_TLS_KEY_FILE', 'is missing beside GATEWAY_TLS_CERT_FILE; accepted: both or neither');

  const cert = read('GATEWAY_TLS_CERT_FILE', certFile);
  const key = read('GATEWAY_TLS_KEY_FILE', keyFile);
  const certificate = cert === undefined ? undefined : attempt(() => new X509Certificate(cert));
  const privateKey: KeyObject | undefined =
    key === undefined ? undefined : attempt(() => createPrivateKey(key));
  if (cert !== undefined && certificate === undefined) {
    add(
      'GATEWAY_TLS_CERT_FILE',
      'names a file that holds no certificate; accepted: PEM, with the chain after it',
    );
  }
  if (key !== undefined && privateKey === undefined) {
    add('GATEWAY_TLS_KEY_FILE', 'names a file that holds no private key; accepted: PEM without a passphrase');
  }
  if (certificate !== undefined && privateKey !== undefined && !certificate.checkPrivateKey(privateKey)) {
    add(
      'GATEWAY_TLS_KEY_FILE',
      'does not belong to the first certificate in GATEWAY_TLS_CERT_FILE; accepted: the key of the certificate, ' +
        'which stands before those that signed it',
    );
  }
  return cert === undefined || key === undefined ? undefined : { cert, key };

  function read(setting: string, path: string | undefined): string | undefined {
    if (path === undefined) return undefined;
    try {
      return readFile(path);
    } catch (error) {
      add(
        setting,
        `names a file that cannot be read: ${readProblem(error)}; accepted: the path of a readable PEM file`,
      );
      return undefined;
    }
  }
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
