import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { GatewayConfig } from './model.ts';
import { readNamedFile, type ReadFile, type ReadSettings } from './read-settings.ts';

/** Reads GATEWAY_TLS_CERT_FILE and GATEWAY_TLS_KEY_FILE. */
export function readTlsFiles(
  { faults, isSet, read }: ReadSettings,
  readFile: ReadFile,
): GatewayConfig['tls'] {
  const add = (setting: 'GATEWAY_TLS_CERT_FILE' | 'GATEWAY_TLS_KEY_FILE', message: string): void =>
    void faults.push({ setting, message });
  const [hasCert, hasKey] = [isSet('GATEWAY_TLS_CERT_FILE'), isSet('GATEWAY_TLS_KEY_FILE')];
  if (hasKey && !hasCert)
    add('GATEWAY_TLS_CERT_FILE', 'is missing beside GATEWAY_TLS_KEY_FILE; accepted: both or neither');
  if (hasCert && !hasKey)
    add('GATEWAY_TLS_KEY_FILE', 'is missing beside GATEWAY_TLS_CERT_FILE; accepted: both or neither');

  const readPem = (path: string) => readNamedFile(path, readFile, 'a readable PEM file');
  const cert = read('GATEWAY_TLS_CERT_FILE', readPem);
  const key = read('GATEWAY_TLS_KEY_FILE', readPem);
  const certificate = cert === undefined ? undefined : attempt(() => new X509Certificate(cert));
  const privateKey = key === undefined ? undefined : attempt(() => createPrivateKey(key));
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
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
