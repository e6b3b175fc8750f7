import { CallerGone } from '../core/call-error.ts';
import { whenKnown } from '../core/when-known.ts';
import { ANY_PAGE_MAY_READ } from '../access/cors.ts';
import type { SourceDecision, SourcePolicy } from '../access/source-policy.ts';
import { MAX_PIPELINED } from './connections.ts';
import type { Exchange } from './exchange.ts';
import type { FindRoute, Route } from './routes.ts';

/**
 * Where a request leads; undefined when it has been answered. `place` is its place among the unanswered requests of its
 * connection, from 1. Throws CallerGone.
 */
export type ValidateRequest = (
  exchange: Exchange,
  place: number,
) => Route | undefined | Promise<Route | undefined>;

/** All checks of a request up to its route. docs/reference/http.md promises callers their order. */
export function createValidateRequest(sourcePolicy: SourcePolicy, findRoute: FindRoute): ValidateRequest {
  function routeOf(
    exchange: Exchange,
    place: number,
    { address, bucket, refusal }: SourceDecision,
  ): Route | undefined {
    const { request } = exchange;
    exchange.log.source = address;
    exchange.sourceBucket = bucket;
    if (refusal !== undefined) {
      exchange.sendError(refusal.code, refusal.message, refusal.headers);
      return undefined;
    }
    if (place > MAX_PIPELINED) {
      const message = 'too many requests wait on this connection: send the next after an answer';
      exchange.sendError('GATEWAY_RATE_LIMITED', message);
      return undefined;
    }
    const fault = messageFault(exchange);
    if (fault !== undefined) {
      exchange.sendError('GATEWAY_INVALID_REQUEST', fault);
      return undefined;
    }
    const route = findRoute(request.url ?? '');
    if (route === undefined) {
      exchange.sendError('GATEWAY_NOT_FOUND');
      return undefined;
    }
    exchange.log.route = route.template;
    if (route.kind === 'metadata') exchange.cors = ANY_PAGE_MAY_READ;
    if (request.method === 'OPTIONS') {
      const preflight = exchange.cors?.preflightHeaders(exchange.headers, route.methods);
      if (preflight !== undefined) {
        exchange.send(204, preflight, []);
        return undefined;
      }
    }
    if (!route.methods.includes(request.method ?? '')) {
      exchange.sendError('GATEWAY_METHOD_NOT_ALLOWED', undefined, ['Allow', route.methods.join(', ')]);
      return undefined;
    }
    return route;
  }

  return (exchange, place) => {
    const { request } = exchange;
    const { remoteAddress } = request.socket;
    if (remoteAddress === undefined) {
      // Reset before its address was read.
      request.socket.destroy();
      throw new CallerGone();
    }
    return whenKnown(sourcePolicy(remoteAddress, request.rawHeaders), (decision) =>
      routeOf(exchange, place, decision),
    );
  };
}

/** What is wrong with the message by the rules of HTTP; undefined when nothing is. */
function messageFault({ request, headers }: Exchange): string | undefined {
  const { httpVersion, url = '' } = request;
  if (!httpVersion.startsWith('1.')) return 'the version must be HTTP/1.1';
  const { host, transferEncoding, repeated } = headers;
  if (repeated.includes('host') || (host === undefined && httpVersion === '1.1')) {
    return 'the request must name one host';
  }
  // A proxy in front of the gateway may see the body end elsewhere: HTTP/1.0 does not know this header.
  if (
    transferEncoding !== undefined &&
    (transferEncoding.toLowerCase() !== 'chunked' ||
      httpVersion === '1.0' ||
      repeated.includes('transfer-encoding'))
  ) {
    return 'the transfer encoding is not supported';
  }
  if (!url.startsWith('/')) return 'the request target must be a path';
  return undefined;
}
