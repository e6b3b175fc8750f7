import type { Issuer } from '@svc/identity';
import { isLoopbackHost } from '@svc/protocol';
import type { TokenConfig } from './model.ts';
import { parseDurationWithin } from './parse/durations.ts';
import { parseIssuerRecords } from './parse/issuers.ts';
import type { ReadSettings } from './read-settings.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Stands for a public URL that is missing or at fault, so that the records are judged all the same. */
const SOME_URL = 'https://gateway.invalid';

interface LoadedTokens {
  /** Undefined where no issuer is configured. */
  readonly tokens: TokenConfig | undefined;
  readonly warnings: readonly string[];
}

/** Whose tokens are taken, and how they are checked. */
export function readTokens(
  { faults, isSet, read }: ReadSettings,
  publicUrl: string | undefined,
): LoadedTokens {
  const base = publicUrl ?? SOME_URL;
  const records = read('GATEWAY_ISSUERS_JSON', (text) => parseIssuerRecords(text, `${base}/mcp`));
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
  if (records === undefined || records.issuers.length === 0) return { tokens: undefined, warnings: [] };
  const { issuers, warnings } = records;
  if (publicUrl === undefined) {
    if (!isSet('GATEWAY_PUBLIC_URL')) {
      const message =
        'is not set beside GATEWAY_ISSUERS_JSON; tokens have to be for this URL with /mcp behind it';
      faults.push({ setting: 'GATEWAY_PUBLIC_URL', message });
    }
    return { tokens: undefined, warnings };
  }
  const { protocol, hostname } = new URL(publicUrl);
  if (protocol === 'http:' && !isLoopbackHost(hostname)) {
    const message =
      'is not https, so tokens would travel in the clear; accepted beside GATEWAY_ISSUERS_JSON: https://, ';
    faults.push({ setting: 'GATEWAY_PUBLIC_URL', message: `${message}or http:// on loopback` });
  }
  return {
    tokens: { issuers, publicUrl, clockSkewMs: clockSkewMs ?? 30_000, refreshMs, maxStaleMs },
    warnings: [...warnings, ...withoutGrants(issuers)].map((warning) => `GATEWAY_ISSUERS_JSON: ${warning}`),
  };
}

/** The agent's records may do without, since grants only narrow what its gateway permits. */
function withoutGrants(issuers: readonly Issuer[]): readonly string[] {
  return issuers
    .filter(({ grants }) => grants.length === 0)
    .map(({ name }) => `the issuer ${name} has no grants, so its tokens may call nothing; add some`);
}
