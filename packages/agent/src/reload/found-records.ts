import type { AgentEvent, Observe } from '../telemetry/events.ts';
import type { StartUpOutcome } from '../start-up/report.ts';

/** What the checks found although the file passed. */
export type Found = Pick<Extract<StartUpOutcome, { step: 'verified' }>, 'warnings' | 'findings'>;

type FoundRecord = Extract<AgentEvent, { event: 'startup_warning' | 'account_finding' }>;

export function recordsOf({ warnings, findings }: Found): readonly FoundRecord[] {
  return [
    ...warnings.map(({ path, message }): FoundRecord => ({ event: 'startup_warning', path, message })),
    ...findings.map((finding): FoundRecord => ({ event: 'account_finding', ...finding })),
  ];
}

/**
 * Records what was not found the last time. What is found about one database does not replace what is known about the
 * others. Returns whether anything new is about an account.
 */
export function createNewsOf(
  atStart: Found,
  observe: Observe,
): (found: Found, isOfOneDatabase?: boolean) => boolean {
  let told = new Set(recordsOf(atStart).map(identityOf));
  return (found, isOfOneDatabase = false) => {
    const records = recordsOf(found);
    const news = records.filter((record) => !told.has(identityOf(record)));
    told = new Set([...(isOfOneDatabase ? told : []), ...records.map(identityOf)]);
    for (const record of news) observe(record);
    return news.some(({ event }) => event === 'account_finding');
  };
}

/** Without the remedy, which changes with the capabilities. */
function identityOf(record: FoundRecord): string {
  return record.event === 'account_finding'
    ? `${record.database ?? ''} ${record.problem}`
    : `${record.path}: ${record.message}`;
}
