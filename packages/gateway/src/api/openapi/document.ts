import { createHash } from 'node:crypto';
import type { Description } from '@svc/protocol';
import { exposedOperations, visibleTo } from '../../catalog/visible-operations.ts';
import type { Permissions } from '../../auth/permission.ts';

/** An OpenAPI document as one principal may see it, ready to send. */
interface VisibleDocument {
  readonly bytes: Buffer;
  /** Strong validator, quoted. */
  readonly etag: string;
}

export type DocumentFor = (description: Description, permissions: Permissions) => VisibleDocument;

/**
 * Filters the description by permissions and adds the server's address. Made once for a description and a permission
 * set, which lives as long as the process.
 */
export function createDocuments(publicUrl: string | undefined): DocumentFor {
  const cache = new WeakMap<Description, Map<Permissions, VisibleDocument>>();
  return (description, permissions) => {
    const documents = cache.get(description) ?? new Map<Permissions, VisibleDocument>();
    cache.set(description, documents);
    const known = documents.get(permissions);
    if (known !== undefined) return known;
    const made = render(description, permissions, publicUrl);
    documents.set(permissions, made);
    return made;
  };
}

function render(
  description: Description,
  permissions: Permissions,
  publicUrl: string | undefined,
): VisibleDocument {
  const visible = visibleTo(permissions, exposedOperations(description));
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
