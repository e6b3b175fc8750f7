import { isLoopbackHost } from '@svc/protocol';
import type { TokenConfig } from './model.ts';
import { durationBetween } from './parse/values.ts';
import type { ReadSettings } from './read-settings.ts';

export type TokenTimes = Pick<TokenConfig, 'clockSkewMs' | 'refreshMs' | 'maxStaleMs'>;

/** Reads the settings that hold for the tokens of all issuers. */
export function readTokenTimes({ faults, read }: ReadSettings): TokenTimes {
  const clockSkewMs = read('GATEWAY_TOKEN_CLOCK_SKEW', durationBetween('0s', '5m')) ?? 30_000;
  const refreshMs = read('GATEWAY_JWKS_REFRESH', durationBetween('10s', '24h')) ?? 600_000;
  const maxStaleMs = read('GATEWAY_JWKS_MAX_STALE', durationBetween('1m', '720h')) ?? 86_400_000;
  if (maxStaleMs < refreshMs) {
    const message =
      'is shorter than GATEWAY_JWKS_REFRESH, so keys would be given up before they are fetched again';
    faults.push({ setting: 'GATEWAY_JWKS_MAX_STALE', message: `${message}; accepted: at least as long` });
  }
  return { clockSkewMs, refreshMs, maxStaleMs };
}

/** Whether tokens can be for this URL; if not, adds a fault. `issuersIn` is the setting that has the issuers. */
export function takesTokens(
  { faults, isSet }: ReadSettings,
  publicUrl: string | undefined,
  issuersIn: 'GATEWAY_ISSUERS_JSON' | 'GATEWAY_SERVICES_FILE',
): publicUrl is string {
  if (publicUrl === undefined) {
    if (!isSet('GATEWAY_PUBLIC_URL')) {
      const beside = issuersIn === 'GATEWAY_ISSUERS_JSON' ? issuersIn : `the issuers of ${issuersIn}`;
      const message = `is not set beside ${beside}; tokens must be for this URL followed by /mcp`;
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
