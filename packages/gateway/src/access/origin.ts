import { isIP } from 'node:net';
import { hostnameOf } from '@svc/edge';
import { isLoopbackHost } from '@svc/protocol';

export interface OriginRules {
  /** Undefined for every address of the machine. */
  readonly listenHost: string | undefined;
  readonly publicUrl: string | undefined;
  readonly corsOrigins: readonly string[] | '*';
}

interface OriginHeaders {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly repeated: readonly string[];
}

/** The reason for a refusal, for its sender; undefined when the request is allowed. */
export type RefuseOrigin = (headers: OriginHeaders) => string | undefined;

const REMEMBERED = 1000;

/**
 * Keeps web pages away that a browser was led to send here: by `Origin`, and on a loopback listener by `Host` too,
 * since a name of the attacker's may lead to loopback (DNS rebinding). Requests without `Origin` come from no page.
 */
export function createOriginCheck({ listenHost, publicUrl, corsOrigins }: OriginRules): RefuseOrigin {
  const ours = publicUrl === undefined ? undefined : new URL(publicUrl);
  const onLoopback = listenHost !== undefined && isLoopbackHost(listenHost);
  const listed = new Set(corsOrigins === '*' ? [] : corsOrigins);
  const goodHosts = new Set<string>();

  function hostIsRefused(host: string): boolean {
    if (goodHosts.has(host)) return false;
    const name = hostnameOf(host);
    const good =
      name !== undefined && (isLoopbackHost(name) || name.endsWith('.localhost') || name === ours?.hostname);
    if (good && goodHosts.size < REMEMBERED) goodHosts.add(host);
    return !good;
  }

  /** A page whose address names this listener by number or as localhost cannot have come by a name of its own. */
  function isOwn(origin: string, host: string | undefined): boolean {
    if (origin === ours?.origin) return true;
    const name = host === undefined ? undefined : hostnameOf(host);
    if (name === undefined || !(isLoopbackHost(name) || isIP(name.replace(/^\[|\]$/g, '')) !== 0))
      return false;
    // TLS may end here or at a proxy.
    return origin === `http://${host}` || origin === `https://${host}`;
  }

  return ({ host, origin, repeated }) => {
    if (onLoopback && host !== undefined && hostIsRefused(host)) {
      return 'the gateway does not serve this host name; if the name is right, set GATEWAY_PUBLIC_URL to it';
    }
    if (origin === undefined) return undefined;
    const allowed =
      !repeated.includes('origin') && (corsOrigins === '*' || listed.has(origin) || isOwn(origin, host));
    return allowed ? undefined : 'pages of this origin may not call; see GATEWAY_CORS_ALLOWED_ORIGINS';
  };
}
