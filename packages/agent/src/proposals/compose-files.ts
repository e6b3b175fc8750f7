import type { Catalog, CatalogAccounts, CatalogSource, CatalogTarget } from '../databases/driver/catalog.ts';
import { DEFAULT_DRIVER, driverOf } from '../databases/drivers.ts';
import { slugOf } from './capability-names.ts';
import type { Proposal } from './model.ts';
import { renderCapabilityFile } from './render/capability-file.ts';
import { GITIGNORE, renderEnvExample, renderGatewayEnv, renderReaderSql } from './render/side-files.ts';
import type { FileToWrite } from './write-folder.ts';

export interface FilesToCompose {
  readonly source: CatalogSource;
  readonly target: CatalogTarget;
  readonly catalog: Catalog;
  readonly proposal: Proposal;
  /** Absent if the database has no accounts. */
  readonly account?: { readonly name: string; readonly password: string };
  readonly gatewayUrl: string;
  readonly agentKey: { readonly seed: string; readonly publicKey: string };
  readonly max: number;
}

export const CAPABILITY_FILE = 'capability.yaml';
const KEY_FILE = 'secrets/agent-key';
const PASSWORD_FILE = 'secrets/db-password';

/** One account for each database, since accounts belong to the whole server. */
export function accountNameFor({ name }: Catalog, { nameMax }: CatalogAccounts): string {
  return `svc_reader_${slugOf(name)}`.slice(0, nameMax);
}

/** Whether the driver refuses an account that may do more than read even if the file does not ask for that. */
export function isReadonlyRequired({ driver = DEFAULT_DRIVER }: CatalogTarget['section']): boolean {
  return driverOf(String(driver)).section.properties['require_readonly_account']?.['default'] === true;
}

export function composeFiles(wanted: FilesToCompose): {
  readonly files: readonly FileToWrite[];
  /** They create the account; none if the database has no accounts. */
  readonly statements: readonly string[];
} {
  const { source, target, catalog, proposal, account, gatewayUrl, agentKey, max } = wanted;
  const { accounts } = source;
  const reader =
    accounts === undefined || account === undefined
      ? undefined
      : { ...account, accounts, statements: accounts.statements(catalog, account.name, proposal.grants) };
  const shown = (path: string, text: string): FileToWrite => ({ path, text, isSecret: false });
  const secret = (path: string, text: string): FileToWrite => ({ path, text, isSecret: true });
  const files = [
    shown(
      CAPABILITY_FILE,
      renderCapabilityFile({
        catalog,
        proposal,
        gatewayUrl,
        section: target.section,
        isReadonlyRequired: isReadonlyRequired(target.section),
        login: reader === undefined ? {} : { user: reader.name, password_file: PASSWORD_FILE },
        keyFile: KEY_FILE,
        max,
      }),
    ),
    ...(reader === undefined
      ? []
      : [shown('reader.sql', renderReaderSql({ ...reader, catalog, passwordFile: PASSWORD_FILE }))]),
    shown('.env.example', renderEnvExample()),
    secret('gateway.env', renderGatewayEnv(gatewayUrl, agentKey.publicKey)),
    shown('.gitignore', GITIGNORE),
    secret(KEY_FILE, `${agentKey.seed}\n`),
    ...(reader === undefined ? [] : [secret(PASSWORD_FILE, `${reader.password}\n`)]),
  ];
  return { files, statements: reader?.statements ?? [] };
}
