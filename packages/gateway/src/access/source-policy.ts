import type { CallErrorCode } from '../core/call-error.ts';
import type { RateDecision, RequestLimiter } from './rate-limit.ts';
import type { ResolveSource } from '../network/client-address.ts';

export interface SourceDecision {
  /** For the log; empty when it cannot be known. */
  readonly address: string;
  /** What bounds per source count by. */
  readonly bucket: string;
  readonly refusal:
    | { readonly code: CallErrorCode; readonly message: string; readonly headers?: readonly string[] }
    | undefined;
}

/**
 * Whether a request's source may send it; to be asked once for each, before any other check. A promise only where the rate
 * limit asks others. Never rejects.
 */
export type SourcePolicy = (
  peerAddress: string,
  rawHeaders: readonly string[],
) => SourceDecision | Promise<SourceDecision>;

/** Allow list, then rate limit: a source that is not allowed learns nothing of the limit. */
export function createSourcePolicy(options: {
  readonly resolveSource: ResolveSource;
  readonly rateLimiter: RequestLimiter | undefined;
}): SourcePolicy {
  const { resolveSource, rateLimiter } = options;
  return (peerAddress, rawHeaders) => {
    const source = resolveSource(peerAddress, rawHeaders);
    if (source === 'malformed') {
      const message = 'X-Forwarded-For has an entry that is not an IP address';
      return { address: '', bucket: '', refusal: { code: 'GATEWAY_INVALID_REQUEST', message } };
    }
    const { address, bucket } = source;
    if (!source.allowed) {
      const message = 'the source address is not allowed';
      return { address, bucket, refusal: { code: 'GATEWAY_SOURCE_NOT_ALLOWED', message } };
    }
    const rate = rateLimiter?.take(bucket);
    return rate instanceof Promise
      ? rate.then((decided) => decision(address, bucket, decided))
      : decision(address, bucket, rate);
  };
}

function decision(address: string, bucket: string, rate: RateDecision | undefined): SourceDecision {
  if (rate?.ok === false) {
    const message = 'too many requests, slow down';
    const headers = ['Retry-After', String(rate.retryAfterSeconds)];
    return { address, bucket, refusal: { code: 'GATEWAY_RATE_LIMITED', message, headers } };
  }
  return { address, bucket, refusal: undefined };
}
