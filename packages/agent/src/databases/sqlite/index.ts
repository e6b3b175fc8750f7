import type { Driver } from '../driver/driver.ts';
import { refuseExplain } from '../driver/errors.ts';
import { configure, section } from './config/config.ts';
import { connect, engineCode } from './connect.ts';

export const sqlite: Driver = {
  systemName: 'sqlite',
  section,
  secrets: [],
  certificates: [],
  configure,
  engineCode,
  connect,
  loadExplain: refuseExplain,
  loadVerifier: async () => (await import('./verifier.ts')).verifier,
  loadCatalog: async () => (await import('./catalog-source.ts')).catalogSource,
};
