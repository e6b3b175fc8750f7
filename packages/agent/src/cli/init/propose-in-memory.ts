import { canStartProcesses, type Given } from '@svc/edge';
import { engineProblem } from '../../config/checks/check-processes.ts';
import { DRIVER_NAMES, driverOfUrl } from '../../databases/drivers.ts';
import { DatabaseError, type VerificationFault } from '../../databases/driver/errors.ts';
import { isReadonlyRequired } from '../../proposals/compose-files.ts';
import type { Proposal } from '../../proposals/model.ts';
import { renderCapabilityFile } from '../../proposals/render/capability-file.ts';
import { withoutFailing } from '../../proposals/without-failing.ts';
import { makeProposal, READ_TIMEOUT_MS, Refused, refusedBy, wantedOf } from './make-proposal.ts';

/** What `init` would write for the account of a URL, in memory. */
export interface ProposedFile {
  /** A capability file. It holds the password of the URL. */
  readonly content: Uint8Array;
  /** Tables and views of which nothing is left, each as SQL. */
  readonly unreadable: readonly string[];
  /** The same without the capabilities that have these faults; undefined if another fault is among them, or none is left. */
  without(faults: readonly VerificationFault[]): ProposedFile | undefined;
}

/**
 * Reads the catalogs of the database and proposes capabilities; no row is read. `given` has the flags of `init` that choose
 * tables. Throws Refused.
 */
export async function proposeInMemory(
  url: string,
  given: Given,
  env: Readonly<Record<string, string | undefined>>,
  description: string,
): Promise<ProposedFile> {
  const wanted = wantedOf(given);
  const driver = driverOfUrl(url);
  const unstartable = canStartProcesses() ? undefined : engineProblem(driver);
  if (unstartable !== undefined) throw new Refused(unstartable);
  const source = await driver.loadCatalog();
  const found = source.target(url, env);
  if (!found.ok) throw new Refused(found.problem + otherSchemes(url));
  const { target } = found;
  const catalog = await source.read(target, READ_TIMEOUT_MS).catch((error: unknown) => {
    throw error instanceof DatabaseError ? refusedBy(error, 'cannot read the catalogs') : error;
  });
  const { account } = target;
  const login = account === undefined ? {} : { user: account.user, password: account.password ?? '' };
  const all = makeProposal(source, catalog, wanted);

  function fileOf(proposal: Proposal): ProposedFile {
    const text = renderCapabilityFile({
      catalog,
      proposal,
      description,
      gatewayUrl: '',
      section: target.section,
      isReadonlyRequired: isReadonlyRequired(target.section),
      login,
      keyFile: '',
      max: wanted.max,
    });
    const left = new Set(
      proposal.tables.flatMap(({ table, capabilities }) => (capabilities.length > 0 ? [table.sql] : [])),
    );
    return {
      content: Buffer.from(text),
      unreadable: all.tables.flatMap(({ table, capabilities }) =>
        capabilities.length > 0 && !left.has(table.sql) ? [table.sql] : [],
      ),
      without(faults) {
        const rest = withoutFailing(proposal, faults);
        return rest && fileOf(rest);
      },
    };
  }

  return fileOf(all);
}

/** What follows the problem of a URL that no driver claims. */
function otherSchemes(url: string): string {
  if (/^postgres(?:ql)?:/i.test(url) || DRIVER_NAMES.some((name) => url.toLowerCase().startsWith(`${name}:`)))
    return '';
  const others = DRIVER_NAMES.filter((name) => name !== 'postgres').map((name) => `\`${name}:\``);
  return `; the URL of another kind of database begins with ${others.join(', ')}`;
}
