import type { Catalog, CatalogSource, CatalogTarget } from '../databases/catalog.ts';
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
  readonly account: string;
  readonly password: string;
  readonly gatewayUrl: string;
  readonly agentKey: { readonly seed: string; readonly publicKey: string };
  readonly max: number;
}

export const CAPABILITY_FILE = 'capability.yaml';
const KEY_FILE = 'secrets/agent-key';
const PASSWORD_FILE = 'secrets/db-password';
const ROLE_NAME_MAX = 63;

/** One account for each database, since accounts belong to the whole server. */
export function accountNameFor({ name }: Catalog): string {
  return `svc_reader_${slugOf(name)}`.slice(0, ROLE_NAME_MAX);
}

/** All files of a new capability folder. */
export function composeFiles(wanted: FilesToCompose): {
  readonly files: readonly FileToWrite[];
  /** That make the account. */
  readonly statements: readonly string[];
} {
  const { source, target, catalog, proposal, account, password, gatewayUrl, agentKey, max } = wanted;
  const statements = source.accountStatements(catalog, account, proposal.grants);
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
        account,
        keyFile: KEY_FILE,
        passwordFile: PASSWORD_FILE,
        max,
      }),
    ),
    shown(
      'reader.sql',
      renderReaderSql({
        catalog,
        statements,
        passwordHint: source.passwordHint(account),
        passwordFile: PASSWORD_FILE,
      }),
    ),
    shown('.env.example', renderEnvExample()),
    secret('gateway.env', renderGatewayEnv(gatewayUrl, agentKey.publicKey)),
    shown('.gitignore', GITIGNORE),
    secret(KEY_FILE, `${agentKey.seed}\n`),
    secret(PASSWORD_FILE, `${password}\n`),
  ];
  return { files, statements };
}
