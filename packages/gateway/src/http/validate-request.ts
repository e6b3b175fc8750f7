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
      return refuse(exchange, refusal.code, refusal.message, refusal.headers);
    }
    if (place > MAX_PIPELINED) {
      const message = 'too many requests wait on this connection: send the next after an answer';
      return refuse(exchange, 'GATEWAY_RATE_LIMITED', message);
    }
    const fault = messageFault(exchange);
    if (fault !== undefined) return refuse(exchange, 'GATEWAY_INVALID_REQUEST', fault);
    const route = findRoute(request.url ?? '');
    if (route === undefined) return refuse(exchange, 'GATEWAY_NOT_FOUND');
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
      const allow = ['Allow', route.methods.join(', ')];
      return refuse(exchange, 'GATEWAY_METHOD_NOT_ALLOWED', undefined, allow);
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

function refuse(exchange: Exchange, ...error: Parameters<Exchange['sendError']>): undefined {
  exchange.sendError(...error);
  return undefined;
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
