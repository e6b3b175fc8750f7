import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostnameOf } from '../network/host-name.ts';

export interface BrowserRules {
  readonly listenHost: string | undefined;
  readonly publicUrl: string | undefined;
  /** PEM; undefined where there is no TLS. */
  readonly certificate: string | undefined;
  readonly behindTlsProxy: boolean;
  readonly isLoopbackHost: (host: string) => boolean;
  /** What to do after a request for a host name that is not served. */
  readonly advice: string;
}

/** Why a request is refused, for its sender; undefined if it is not. `isPage`: it asks for a page, which anybody may have. */
export type RefuseBrowser = (request: IncomingMessage, isPage: boolean) => string | undefined;

/**
 * Keeps away what a browser was led to send here by a page of somebody else. By `Host`: a name of that page's owner may
 * lead to this address (DNS rebinding), but a number or a name of ours is none of his. By `Origin` and `Sec-Fetch-Site`: all
 * that other pages send. The port is not looked at, since it changes where a connection is forwarded, as by ssh -L.
 */
export function createBrowserCheck(rules: BrowserRules): RefuseBrowser {
  const { listenHost, publicUrl, behindTlsProxy, isLoopbackHost } = rules;
  const certificate = rules.certificate === undefined ? undefined : new X509Certificate(rules.certificate);
  const onLoopback = listenHost !== undefined && isLoopbackHost(listenHost);
  const ours = new Set([
    listenHost?.toLowerCase(),
    publicUrl === undefined ? undefined : new URL(publicUrl).hostname,
  ]);

  function isOurs(name: string): boolean {
    return (
      isLoopbackHost(name) ||
      name.endsWith('.localhost') ||
      ours.has(name) ||
      (!onLoopback && isIP(name.replace(/^\[|\]$/g, '')) !== 0) ||
      certificate?.checkHost(name) !== undefined
    );
  }

  return (request, isPage) => {
    const { host, origin, 'sec-fetch-site': site = 'none' } = request.headers;
    const name = host === undefined ? undefined : hostnameOf(host);
    if (name === undefined || request.headersDistinct['host']?.length !== 1 || !isOurs(name)) {
      return `this host name is not served here: ${rules.advice}`;
    }
    const isOwnPage = site === 'same-origin';
    if (!isOwnPage && site !== 'none' && !(isPage && isNavigation(request))) {
      return 'pages of other sites may not use the console';
    }
    if (origin === undefined || origin === `http://${host}` || origin === `https://${host}`) return undefined;
    // A proxy may name itself by another host than the browser did.
    return behindTlsProxy && isOwnPage ? undefined : 'pages of other origins may not use the console';
  };
}

function isNavigation({ headers }: IncomingMessage): boolean {
  return headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}
