import type { Driver } from '../driver/driver.ts';
import { DatabaseError } from '../driver/errors.ts';
import { configure } from './config/config.ts';
import { section } from './config/config-schema.ts';
import { connect } from './connect.ts';
import { engineCode } from './connection/engine-code.ts';

export const sqlite: Driver = {
  systemName: 'sqlite',
  section,
  secrets: [],
  certificates: [],
  configure,
  engineCode,
  connect,
  loadExplain: () => Promise.reject(unsupported('--explain')),
  loadVerifier: async () => (await import('./verifier.ts')).verifier,
  loadCatalog: async () => (await import('./catalog-source.ts')).catalogSource,
};

function unsupported(what: string): DatabaseError {
  const advice = `${what} is for PostgreSQL alone: call without it`;
  return new DatabaseError('failed', advice, { advice });
}
