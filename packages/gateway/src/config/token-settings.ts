import { isLoopbackHost } from '@svc/protocol';
import type { TokenConfig } from './model.ts';
import { parseDurationWithin } from './parse/durations.ts';
import type { ReadSettings } from './read-settings.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export type TokenTimes = Pick<TokenConfig, 'clockSkewMs' | 'refreshMs' | 'maxStaleMs'>;

/** How tokens are checked, whosever they are. */
export function readTokenTimes({ faults, read }: ReadSettings): TokenTimes {
  const clockSkewMs = read('GATEWAY_TOKEN_CLOCK_SKEW', (text) =>
    parseDurationWithin(text, { leastMs: 0, mostMs: 5 * MINUTE_MS, range: 'from 0s to 5m' }),
  );
  const refreshMs =
    read('GATEWAY_JWKS_REFRESH', (text) =>
      parseDurationWithin(text, { leastMs: 10_000, mostMs: 24 * HOUR_MS, range: 'from 10s to 24h' }),
    ) ?? 10 * MINUTE_MS;
  const maxStaleMs =
    read('GATEWAY_JWKS_MAX_STALE', (text) =>
      parseDurationWithin(text, { leastMs: MINUTE_MS, mostMs: 720 * HOUR_MS, range: 'from 1m to 720h' }),
    ) ?? 24 * HOUR_MS;
  if (maxStaleMs < refreshMs) {
    const message =
      'is shorter than GATEWAY_JWKS_REFRESH, so keys would be given up before they are fetched anew';
    faults.push({ setting: 'GATEWAY_JWKS_MAX_STALE', message: `${message}; accepted: at least as long` });
  }
  return { clockSkewMs: clockSkewMs ?? 30_000, refreshMs, maxStaleMs };
}

/** Whether tokens can be for this URL; if not, that is added to the faults. `issuersIn` is the setting that has the issuers. */
export function takesTokens(
  { faults, isSet }: ReadSettings,
  publicUrl: string | undefined,
  issuersIn: 'GATEWAY_ISSUERS_JSON' | 'GATEWAY_SERVICES_FILE',
): publicUrl is string {
  if (publicUrl === undefined) {
    if (!isSet('GATEWAY_PUBLIC_URL')) {
      const beside = issuersIn === 'GATEWAY_ISSUERS_JSON' ? issuersIn : `the issuers of ${issuersIn}`;
      const message = `is not set beside ${beside}; tokens have to be for this URL with /mcp behind it`;
      faults.push({ setting: 'GATEWAY_PUBLIC_URL', message });
    }
    return false;
  }
  const { protocol, hostname } = new URL(publicUrl);
  if (protocol === 'http:' && !isLoopbackHost(hostname)) {
    const message = `is not https, so tokens would travel in the clear; accepted beside ${issuersIn}: https://, `;
    faults.push({ setting: 'GATEWAY_PUBLIC_URL', message: `${message}or http:// on loopback` });
  }
  return true;
}
