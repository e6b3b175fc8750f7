import type { Catalog } from '../../catalog/catalog.ts';
import { CallError } from '../../core/call-error.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { Authenticate } from '../../auth/authenticate.ts';
import { createDocuments, type DocumentOptions } from './document.ts';

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
