import { createHash } from 'node:crypto';
import type { Catalog } from '../catalog/catalog.ts';
import type { OwnLink } from './callable-link.ts';
import { parseDescription } from './description.ts';
import type { Registry } from './registry.ts';

/** The agent that runs in the process of the gateway. */
export interface OwnAgent {
  /**
   * Sends calls over this link from now on; `keyId` is one of the service's agents. `linkOf` makes the link of what the
   * description says. The returned function must be called when the link takes no more calls.
   */
  enter(keyId: string, bytes: Uint8Array, linkOf: LinkOf): Promise<() => void>;
}

type LinkOf = (description: Awaited<ReturnType<typeof parseDescription>>) => OwnLink;

export function createOwnAgent({
  registry,
  catalog,
}: {
  readonly registry: Registry;
  readonly catalog: Catalog;
}): OwnAgent {
  return {
    async enter(keyId, bytes, linkOf) {
      const description = await parseDescription(bytes);
      const link = linkOf(description);
      const digest = createHash('sha256').update(bytes).digest('hex');
      registry.add(link);
      const leave = catalog.add({
        keyId,
        instanceId: link.instanceId,
        digest,
        bytes: bytes.length,
        description,
      });
      await catalog.upToDate;
      return () => {
        registry.remove(link);
        leave();
      };
    },
  };
}
