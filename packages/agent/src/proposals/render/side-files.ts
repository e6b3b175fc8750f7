import type { Catalog, CatalogAccounts } from '../../databases/driver/catalog.ts';
import { oneLine } from './one-line.ts';

export interface ReaderFile {
  readonly catalog: Catalog;
  readonly accounts: CatalogAccounts;
  readonly name: string;
  readonly statements: readonly string[];
  readonly passwordFile: string;
}

/** `reader.sql`: the account of the agent. It holds no password. */
export function renderReaderSql({ catalog, accounts, name, statements, passwordFile }: ReaderFile): string {
  const { noun, shell, transaction } = accounts;
  const all = transaction === undefined ? statements : [transaction.begin, ...statements, transaction.commit];
  return `-- The account that svc-agent uses on the database ${oneLine(catalog.name)}: it reads the columns that
-- capability.yaml uses, and nothing else. Run this once, as somebody who may create ${noun} and grant this.
-- Then give the account the password that is in ${passwordFile}; in ${shell}:
--   ${oneLine(accounts.passwordHint(name))}

${all.map((statement) => `${statement};`).join('\n')}
`;
}

/** `.env.example`: what the agent reads from its environment. */
export function renderEnvExample(): string {
  return `# For svc-agent. Copy this to .env, which .gitignore names, and load it: set -a; . ./.env; set +a
AGENT_CAPABILITY_FILE=capability.yaml
# For svc-agent init alone: an account that may read the catalogs. It is written nowhere.
# DATABASE_URL=postgres://user:password@host:5432/name
`;
}

/** `gateway.env`: the settings of a gateway that takes this agent. */
export function renderGatewayEnv(gatewayUrl: string, agentPublicKey: string): string {
  const url = new URL(gatewayUrl.replaceAll('{replica}', '0'));
  const lines = [
    ...(url.protocol === 'ws:' ? [`GATEWAY_ADDR=${url.hostname}:${url.port === '' ? 80 : url.port}`] : []),
    // Each replica has a URL of its own.
    ...(gatewayUrl.includes('{replica}') ? [] : [`GATEWAY_AGENT_URLS=${gatewayUrl}`]),
  ];
  return `# For the gateway: svc-gateway --env-file gateway.env
GATEWAY_AGENT_PUBLIC_KEY=${agentPublicKey}
# Keys of callers. svc-gateway create-key --name me --capabilities '*' prints a key and the line to put here.
GATEWAY_API_KEYS_JSON='[]'
${lines.map((line) => `${line}\n`).join('')}`;
}

export const GITIGNORE = `secrets/
gateway.env
.env
svc-agent.log*
`;
