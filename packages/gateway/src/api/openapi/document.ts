import { createHash } from 'node:crypto';
import type { Description } from '@svc/protocol';
import { exposedOperations, visibleTo } from '../../catalog/visible-operations.ts';
import type { Permission } from '../../auth/api-keys/key-record.ts';

/** An OpenAPI document as one key may see it, ready to send. */
interface VisibleDocument {
  readonly bytes: Buffer;
  /** Strong validator, quoted. */
  readonly etag: string;
}

export type DocumentFor = (description: Description, permission: Permission) => VisibleDocument;

/**
 * Filters the agent's description by permission and adds the server's
 * address. Made once per description and key: keys live as long as the process.
 */
export function createDocuments(publicUrl: string | undefined): DocumentFor {
  const cache = new WeakMap<Description, Map<Permission, VisibleDocument>>();
  return (description, permission) => {
    const documents = cache.get(description) ?? new Map<Permission, VisibleDocument>();
    cache.set(description, documents);
    const known = documents.get(permission);
    if (known !== undefined) return known;
    const made = render(description, permission, publicUrl);
    documents.set(permission, made);
    return made;
  };
}

function render(
  description: Description,
  permission: Permission,
  publicUrl: string | undefined,
): VisibleDocument {
  const visible = visibleTo(permission, exposedOperations(description));
  const document = {
    ...description.openapi,
    servers: [{ url: publicUrl ?? '/' }],
    paths: Object.fromEntries(visible.map(({ path, item }) => [path, item])),
    ...(visible.length > 0 ? {} : { components: withoutShared(description.openapi['components']) }),
  };
  const bytes = Buffer.from(JSON.stringify(document));
  const digest = createHash('sha256').update(bytes).digest('base64url');
  return { bytes, etag: `"${digest.slice(0, 22)}"` };
}

/** No operation refers to the shared schemas and responses any more; the security stays. */
function withoutShared(components: unknown): Readonly<Record<string, unknown>> {
  if (typeof components !== 'object' || components === null || !('securitySchemes' in components)) return {};
  return { securitySchemes: components.securitySchemes };
}
