import type { Capability } from '../capabilities/model.ts';
import { UNNAMED } from '../capabilities/database-names.ts';
import { sameCapability } from '../capabilities/same-capability.ts';
import type { DatabaseConfig } from '../databases/driver/driver.ts';
import { sameConnection } from '../databases/opened.ts';
import type { UnverifiedDatabase, VerifiedAgent } from '../start-up/report.ts';

interface Kept {
  readonly verified: VerifiedAgent;
  /** Whether `verified.description` lacks narrowed parameters. */
  readonly isDescriptionStale: boolean;
}

/** A database that is away at a reload keeps its unchanged capabilities: they were verified before. */
export function keepServed(before: VerifiedAgent, after: VerifiedAgent): Kept {
  const away = new Set(
    after.unverified.flatMap(({ name }) => {
      const [old, recent] = [before.config.databases[name], after.config.databases[name]];
      return old !== undefined && recent !== undefined && isVerifiedFor(recent, old) ? [name] : [];
    }),
  );
  const served = byName(before.config.capabilities);
  const declared = byName(before.narrowed);
  const prepared = new Map(before.prepared.map((each) => [each.capability, each]));
  const isKept = (capability: Capability): boolean => {
    const { name, database = UNNAMED } = capability;
    const old = declared.get(name) ?? served.get(name);
    return away.has(database) && prepared.has(name) && old !== undefined && sameCapability(old, capability);
  };
  const kept = new Set(after.config.capabilities.filter(isKept).map(({ name }) => name));
  const isWaiting = ({ name }: UnverifiedDatabase): boolean =>
    !away.has(name) ||
    after.config.capabilities.some((each) => (each.database ?? UNNAMED) === name && !kept.has(each.name));
  const narrowed = before.narrowed.filter(({ name }) => kept.has(name));
  return {
    verified: {
      config: {
        ...after.config,
        capabilities: after.config.capabilities.map((each) =>
          kept.has(each.name) ? (served.get(each.name) ?? each) : each,
        ),
      },
      narrowed: [...after.narrowed, ...narrowed],
      prepared: [...after.prepared, ...before.prepared.filter(({ capability }) => kept.has(capability))],
      description: after.description,
      unverified: after.unverified.filter(isWaiting),
    },
    isDescriptionStale: narrowed.length > 0,
  };
}

/**
 * What was verified with other `transactions` would share them although the file says otherwise, and an account that may
 * write is refused from now on.
 */
function isVerifiedFor(recent: DatabaseConfig, old: DatabaseConfig): boolean {
  const isAudited = old.requireReadonlyAccount || !recent.requireReadonlyAccount;
  return isAudited && sameConnection(old, recent) && old.transactions === recent.transactions;
}

function byName(capabilities: readonly Capability[]): ReadonlyMap<string, Capability> {
  return new Map(capabilities.map((each) => [each.name, each]));
}
