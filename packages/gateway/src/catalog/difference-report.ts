import { createHash } from 'node:crypto';
import { CAPABILITY_PATH_PREFIX, type Description } from '@svc/protocol';
import type { Observe } from '../telemetry/events.ts';
import type { AgentOffer } from './offer.ts';

/** Some 100 bytes each. */
const REMEMBERED_MAX = 10_000;

/**
 * Tells of capabilities that two agents describe differently: once for each difference, however often the agents come
 * back. The older offers come newest first. What another process tells of is remembered here, and not told again.
 */
export function createDifferenceReport(
  observe: Observe,
): (newest: AgentOffer, others: readonly AgentOffer[], tells: boolean) => void {
  const reported = new Set<string>();

  function isNew(difference: string): boolean {
    if (reported.has(difference)) return false;
    reported.add(difference);
    const [oldest = ''] = reported;
    if (reported.size > REMEMBERED_MAX) reported.delete(oldest);
    return true;
  }

  return (newest, others, tells) => {
    // Whoever offers the same has been compared with the others.
    if (others.some(({ digest }) => digest === newest.digest)) return;
    const compared = new Set<string>();
    const texts = [...published(newest.description)];
    for (const other of others) {
      const otherTexts = published(other.description);
      for (const [capability, text] of texts) {
        const otherText = otherTexts.get(capability);
        // The next older description of it is the one that callers saw before.
        if (otherText === undefined || compared.has(capability)) continue;
        compared.add(capability);
        if (otherText === text || !isNew(differenceOf(capability, text, otherText)) || !tells) continue;
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

/** The same for both orders. */
function differenceOf(capability: string, text: string, otherText: string): string {
  const hash = createHash('sha256').update([capability, ...[text, otherText].toSorted()].join('\n'));
  return hash.digest('base64url');
}

/** What callers are told of each capability, as text. */
function published({ openapi, manifest }: Description): ReadonlyMap<string, string> {
  return new Map(
    manifest.map(({ name, exposed }) => [
      name,
      JSON.stringify([exposed, openapi.paths[CAPABILITY_PATH_PREFIX + name]]),
    ]),
  );
}
