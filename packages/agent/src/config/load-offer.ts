import type { Fault } from '../capabilities/fault.ts';
import type { Capability, ServiceInfo } from '../capabilities/model.ts';
import { buildCapabilities, buildService } from './build.ts';
import { UNSEEN_SECTIONS } from './capability-file.ts';
import { checkFile } from './checks/check-file.ts';
import { driverNameOf } from './driver-of-file.ts';
import { createFaultLog } from './fault-log.ts';
import { readDocument, type ConfigSource } from './load.ts';
import { valueAt } from './path.ts';
import { areOfferSections, lint } from './schema/lint.ts';

/** What a capability file offers to callers, as it is written. Plain data. */
export interface Offer {
  readonly service: ServiceInfo;
  /** Whose calls alone are taken; absent where the file does not say. */
  readonly serviceId?: string;
  readonly capabilities: readonly Capability[];
  /** `identity` as it is written; absent where the file has none. */
  readonly identity?: unknown;
  readonly driver: string;
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
  return {
    offer: {
      service: buildService(root),
      ...(root.service?.id === undefined ? {} : { serviceId: root.service.id }),
      capabilities: buildCapabilities(root, (at) => faults.placeOf(at)?.key ?? { line: 1, column: 1 }),
      ...(identity === undefined ? {} : { identity }),
      driver: driverNameOf(root),
    },
  };
}
