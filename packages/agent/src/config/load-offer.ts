import type { Fault, Position } from '../capabilities/fault.ts';
import type { Capability, ServiceInfo } from '../capabilities/model.ts';
import { DEFAULT_DRIVER } from '../databases/drivers.ts';
import { UNNAMED } from '../capabilities/database-names.ts';
import { buildCapabilities, buildService, usualDatabase } from './build.ts';
import { UNSEEN_SECTIONS } from './capability-file.ts';
import { checkFile } from './checks/check-file.ts';
import { databaseNamesOf, driversOf } from './driver-of-file.ts';
import { createFaultLog } from './fault-log.ts';
import { readDocument, type ConfigSource } from './load.ts';
import { valueAt, type Path } from './path.ts';
import { areOfferSections, lint } from './schema/lint.ts';

/** What a capability file offers to callers, as it is written. Plain data. */
export interface Offer {
  readonly service: ServiceInfo;
  /** Whose calls alone are taken; absent where the file does not say. */
  readonly serviceId?: string;
  readonly capabilities: readonly Capability[];
  /** `identity` as it is written; absent where the file has none. */
  readonly identity?: unknown;
  /** By the names of the databases. */
  readonly drivers: Readonly<Record<string, string>>;
}

/**
 * Reads of a capability file what callers see, without its secrets: a file of yesterday, or of another machine, names
 * variables and files that are not here. What is wrong elsewhere in it goes unsaid.
 */
export function loadOffer(
  source: ConfigSource,
): { readonly offer: Offer } | { readonly faults: readonly Fault[] } {
  const faults = createFaultLog();
  const document = readDocument(source, faults);
  if ('faults' in document) return document;
  const { root } = document;
  lint(root, faults);
  checkFile(root, faults);
  const found = faults.list().filter(({ path }) => !UNSEEN_SECTIONS.has(path.split('.')[0] ?? ''));
  if (found.length > 0 || !areOfferSections(root)) return { faults: found };
  const identity = valueAt(root, ['identity']);
  const usual = usualDatabase(databaseNamesOf(root), root);
  const positionOf = (at: Path): Position => faults.placeOf(at)?.key ?? { line: 1, column: 1 };
  const capabilities = buildCapabilities(root, usual, positionOf);
  // What is wrong with the databases goes unsaid here, so that one may be missing.
  const assumed = capabilities.map(({ database = UNNAMED }) => [database, DEFAULT_DRIVER] as const);
  return {
    offer: {
      service: buildService(root),
      ...(root.service?.id === undefined ? {} : { serviceId: root.service.id }),
      capabilities,
      ...(identity === undefined ? {} : { identity }),
      drivers: { ...Object.fromEntries(assumed), ...driversOf(root) },
    },
  };
}
