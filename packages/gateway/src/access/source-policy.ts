import type { CallErrorCode } from '@svc/protocol';
import { whenKnown } from '../core/when-known.ts';
import type { ResolveSource } from '../network/client-address.ts';
import type { RateDecision, RequestLimiter } from './rate-limit.ts';

export interface SourceDecision {
  /** For the log; empty when it cannot be known. */
  readonly address: string;
  readonly bucket: string;
  readonly refusal:
    | { readonly code: CallErrorCode; readonly message?: string; readonly headers?: readonly string[] }
    | undefined;
}

/** Whether a request's source may send it; asked once for each request, before any other check. Never rejects. */
export type SourcePolicy = (
  peerAddress: string,
  rawHeaders: readonly string[],
) => SourceDecision | Promise<SourceDecision>;

/** The allow list comes before the rate limit: a source that is not allowed learns nothing of the limit. */
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
    if (!source.allowed) return { address, bucket, refusal: { code: 'GATEWAY_SOURCE_NOT_ALLOWED' } };
    return whenKnown(rateLimiter?.take(bucket), (rate) => ({ address, bucket, refusal: refusalOf(rate) }));
  };
}

function refusalOf(rate: RateDecision | undefined): SourceDecision['refusal'] {
  return rate?.ok === false
    ? { code: 'GATEWAY_RATE_LIMITED', headers: ['Retry-After', String(rate.retryAfterSeconds)] }
    : undefined;
}
