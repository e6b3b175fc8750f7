import { createHash } from 'node:crypto';
import type { Sliced } from '@svc/edge';
import { CAPABILITY_PATH_PREFIX, printJsonInSlices, type Description } from '@svc/protocol';
import type { Observe } from '../telemetry/events.ts';
import type { AgentOffer } from './offer.ts';

/** Some 200 bytes each. */
const REMEMBERED_MAX = 10_000;

/**
 * Reports capabilities that two agents describe differently, once for each difference. The older offers come newest first.
 * A difference that another process reports is remembered and not reported again.
 */
export function createDifferenceReport(
  observe: Observe,
): (newest: AgentOffer, others: readonly AgentOffer[], tells: boolean) => Sliced<void> {
  const reported = new Set<string>();
  const digests = new WeakMap<Description, ReadonlyMap<string, string>>();

  function isNew(difference: string): boolean {
    if (reported.has(difference)) return false;
    reported.add(difference);
    const [oldest = ''] = reported;
    if (reported.size > REMEMBERED_MAX) reported.delete(oldest);
    return true;
  }

  function* digestsOf(description: Description): Sliced<ReadonlyMap<string, string>> {
    const known = digests.get(description);
    if (known !== undefined) return known;
    const made = yield* publishedDigests(description);
    digests.set(description, made);
    return made;
  }

  return function* report(newest, others, tells) {
    // An equal description has already been compared with the others.
    if (others.some(({ digest }) => digest === newest.digest)) return;
    const compared = new Set<string>();
    if (others.length === 0) return;
    const own = yield* digestsOf(newest.description);
    for (const other of others) {
      const theirs = yield* digestsOf(other.description);
      yield;
      for (const [capability, digest] of own) {
        const otherDigest = theirs.get(capability);
        // Only the next older description counts: callers saw that one before.
        if (otherDigest === undefined || compared.has(capability)) continue;
        compared.add(capability);
        if (otherDigest === digest || !isNew(differenceOf(capability, digest, otherDigest)) || !tells)
          continue;
        observe({
          event: 'descriptions_differ',
          capability,
          instance_id: newest.instanceId,
          key_id: newest.keyId,
          other_instance_id: other.instanceId,
          other_key_id: other.keyId,
        });
      }
    }
  };
}

function differenceOf(capability: string, digest: string, otherDigest: string): string {
  return [capability, ...[digest, otherDigest].toSorted()].join(' ');
}

/** A digest of what callers are told, for each capability. */
function* publishedDigests({ openapi, manifest }: Description): Sliced<ReadonlyMap<string, string>> {
  const digests = new Map<string, string>();
  for (const { name, exposed } of manifest) {
    const hash = createHash('sha256');
    const told = [exposed, openapi.paths[CAPABILITY_PATH_PREFIX + name]];
    yield* printJsonInSlices(told, 1, (text) => void hash.update(text));
    digests.set(name, hash.digest('base64url'));
    yield;
  }
  return digests;
}
