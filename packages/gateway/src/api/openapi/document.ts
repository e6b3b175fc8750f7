import { createHash } from 'node:crypto';
import type { Issuer } from '@svc/identity';
import type { Description } from '@svc/protocol';
import { createViews, type Shows, type ViewOf } from '../../catalog/views.ts';
import { exposedOperations } from '../../catalog/visible-operations.ts';
import { withTokenSecurity } from './token-security.ts';

/** An OpenAPI document as one principal may see it, ready to send. */
interface VisibleDocument {
  readonly bytes: Buffer;
  /** Strong validator, quoted. */
  readonly etag: string;
}

/** What the gateway adds to what agents describe. */
export interface DocumentOptions {
  readonly publicUrl: string | undefined;
  /** Whose tokens are taken. */
  readonly issuers: readonly Issuer[];
  /** Whether keys may have to wait: for the list of revoked ones, or for the process that checks them. */
  readonly keysMayWait?: boolean;
}

/** Each document is made once for those who see the same. */
export function createDocuments(options: DocumentOptions): ViewOf<VisibleDocument> {
  return createViews((description, shows) => renderDocument(description, shows, options));
}

/** Keeps of the description what is shown; adds the server's address, and how tokens are sent where they are taken. */
export function renderDocument(
  description: Description,
  shows: Shows,
  { publicUrl, issuers, keysMayWait = false }: DocumentOptions,
): VisibleDocument {
  const visible = exposedOperations(description).filter(({ name }) => shows(name));
  const document = {
    ...description.openapi,
    servers: [{ url: publicUrl ?? '/' }],
    paths: Object.fromEntries(visible.map(({ path, item }) => [path, item])),
    ...(visible.length > 0 ? {} : { components: withoutShared(description.openapi['components']) }),
  };
  const bytes = Buffer.from(JSON.stringify(withTokenSecurity(document, issuers, keysMayWait)));
  const digest = createHash('sha256').update(bytes).digest('base64url');
  return { bytes, etag: `"${digest.slice(0, 22)}"` };
}

/** No operation refers to the shared schemas and responses any more; the security stays. */
function withoutShared(components: unknown): Readonly<Record<string, unknown>> {
  if (typeof components !== 'object' || components === null || !('securitySchemes' in components)) return {};
  return { securitySchemes: components.securitySchemes };
}
