import { join } from 'node:path';
import { runProcess } from '../processes/start-process.ts';
import { findProgram } from './find-program.ts';

export interface CertificateFiles {
  /** Signed by itself, so it is its own authority. */
  readonly certificate: string;
  readonly key: string;
}

/** For these names, such as `DNS:gateways.test` or `IP:198.18.0.2`; rejects where openssl is not installed. */
export async function makeCertificate(folder: string, names: readonly string[]): Promise<CertificateFiles> {
  const program = findProgram('openssl');
  if (program === undefined) throw new Error('cannot make a certificate: openssl is not installed');
  const files = { certificate: join(folder, 'certificate.pem'), key: join(folder, 'key.pem') };
  const how =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 2 -subj /CN=test'.split(' ');
  const { code, stderr } = await runProcess(program, [
    ...how,
    '-addext',
    `subjectAltName=${names.join(',')}`,
    '-keyout',
    files.key,
    '-out',
    files.certificate,
  ]);
  if (code !== 0) throw new Error(`cannot make a certificate: ${stderr}`);
  return files;
}
