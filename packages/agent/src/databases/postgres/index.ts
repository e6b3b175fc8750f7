import type { Driver } from '../driver/driver.ts';
import { configure, section } from './config/config.ts';

import { connect } from './connect.ts';

/** PostgreSQL 13 and later. */
export const postgres: Driver = {
  systemName: 'postgresql',
  hasForeignTables: true,
  section,
  secrets: ['password'],
  certificates: ['ssl_root_cert'],
  configure,
  connect,
  loadExplain: async () => (await import('./explainer.ts')).explainer,
  loadVerifier: async () => (await import('./verifier.ts')).verifier,
  loadCatalog: async () => (await import('./catalog-source.ts')).catalogSource,
};
