import type { Driver } from '../driver/driver.ts';
import { configure, section } from './config/config.ts';
import { connect } from './connect.ts';
import { refuseExplain } from '../driver/errors.ts';

/** MariaDB from 10.6 and MySQL from 8.0.22, which speak one protocol. */
function driver(systemName: string): Driver {
  return {
    systemName,
    section,
    secrets: ['password'],
    certificates: ['ssl_root_cert'],
    configure,
    connect,
    loadExplain: refuseExplain,
    loadVerifier: async () => (await import('./verifier.ts')).verifier,
    loadCatalog: async () => (await import('./catalog-source.ts')).catalogSource,
  };
}

export const mariadb: Driver = driver('mariadb');
export const mysql: Driver = driver('mysql');
