import { readFileSync } from 'node:fs';
import { readProblem } from '@svc/edge';
import type { CatalogTarget, CatalogTargetResult } from './catalog.ts';
import type { ServerConfig, ServerSection } from './server-config.ts';

/** Where a server is, and as whom its catalogs are read. */
export interface ServerTarget<Config extends ServerConfig> extends CatalogTarget {
  readonly config: Config;
}

interface TargetSection extends Omit<ServerSection, 'user' | 'max_connections' | 'require_readonly_account'> {
  readonly ssl_root_cert?: string;
}

/** The target of a driver whose `configure` makes its settings. Refuses a certificate that cannot be read. */
export function serverTarget<Config extends ServerConfig>(
  section: TargetSection,
  account: { readonly user: string; readonly password: string | undefined },
  configure: (section: ServerSection, texts: Readonly<Record<string, string>>) => Config,
): CatalogTargetResult {
  const { ssl_root_cert: path } = section;
  let certificate: { readonly ssl_root_cert?: string } = {};
  try {
    if (path !== undefined) certificate = { ssl_root_cert: readFileSync(path, 'utf8') };
  } catch (error) {
    return refused(`cannot read the file that sslrootcert names: ${readProblem(error)}`);
  }
  const { user } = account;
  const target = (password: string | undefined): ServerTarget<Config> => ({
    config: configure(
      { ...section, user, max_connections: 1, require_readonly_account: false },
      { password: password ?? '', ...certificate },
    ),
    section: { ...section },
    account: { user, password },
    hasPassword: password !== undefined,
    withPassword: target,
  });
  return { ok: true, target: target(account.password) };
}

export function refused(problem: string): CatalogTargetResult {
  return { ok: false, problem };
}
