import { createHash } from 'node:crypto';
import type { Sliced } from '@svc/edge';
import type { Issuer } from '@svc/identity';
import { printJsonInSlices, type Description } from '@svc/protocol';
import type { Authenticate } from '../../auth/authenticate.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { makeOf } from '../../catalog/long-descriptions.ts';
import { createViews, type Shows, type ViewOf } from '../../catalog/views.ts';
import { exposedOperations } from '../../catalog/visible-operations.ts';
import { CallError } from '../../core/call-error.ts';
import type { Exchange } from '../../http/exchange.ts';
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
  readonly issuers: readonly Issuer[];
  /** Whether keys may have to wait: for the list of revoked keys, or for the process that checks them. */
  readonly keysMayWait?: boolean;
}

export interface OpenApiOptions extends DocumentOptions {
  readonly authenticate: Authenticate;
  readonly catalog: Catalog;
}

/** GET /openapi.json: what all agents offer together, also while every agent is away. */
export function createOpenApiHandler(options: OpenApiOptions): (exchange: Exchange) => Promise<void> {
  const documentFor = createDocuments(options);
  return async (exchange) => {
    const principal = await options.authenticate(exchange);
    const { catalog } = options;
    // The long description of an agent may still be being read.
    if (catalog.description === undefined) await catalog.upToDate;
    const { description } = catalog;
    if (description === undefined) throw new CallError('GATEWAY_AGENT_OFFLINE');
    const { bytes, etag } = await documentFor(description, principal);
    const candidates = exchange.headers.ifNoneMatch?.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
    if (candidates?.includes(etag) === true || candidates?.includes('*') === true) {
      exchange.send(304, ['ETag', etag], []);
    } else {
      exchange.send(200, ['ETag', etag], [bytes]);
    }
  };
}

export function createDocuments(
  options: DocumentOptions,
): ViewOf<VisibleDocument | Promise<VisibleDocument>> {
  return createViews((description, shows) =>
    makeOf(description, renderDocument(description, shows, options)),
  );
}

/** Keeps what is shown of the description; adds the server's address, and how tokens are sent. */
export function* renderDocument(
  description: Description,
  shows: Shows,
  { publicUrl, issuers, keysMayWait = false }: DocumentOptions,
): Sliced<VisibleDocument> {
  const paths: Record<string, unknown> = {};
  let isEmpty = true;
  for (const { name, path, item } of yield* exposedOperations(description)) {
    yield;
    if (!shows(name)) continue;
    paths[path] = item;
    isEmpty = false;
  }
  const document = {
    ...description.openapi,
    servers: [{ url: publicUrl ?? '/' }],
    paths,
    ...(isEmpty && { components: withoutShared(description.openapi['components']) }),
  };
  const pieces: Buffer[] = [];
  const hash = createHash('sha256');
  yield* printJsonInSlices(withTokenSecurity(document, issuers, keysMayWait), 2, (text) => {
    const piece = Buffer.from(text);
    hash.update(piece);
    pieces.push(piece);
  });
  return { bytes: Buffer.concat(pieces), etag: `"${hash.digest('base64url').slice(0, 22)}"` };
}

/** No operation refers to the shared schemas and responses any more; the security stays. */
function withoutShared(components: unknown): Readonly<Record<string, unknown>> {
  if (typeof components !== 'object' || components === null || !('securitySchemes' in components)) return {};
  return { securitySchemes: components.securitySchemes };
}
