/** Issuers that give a token to whoever asks: a signature alone says nothing about who it is. */
const OPEN_TO_EVERYBODY: ReadonlyMap<string, string> = new Map([
  ['https://token.actions.githubusercontent.com', 'repository_owner_id'],
  ['https://gitlab.com', 'namespace_id'],
  ['https://accounts.google.com', 'hd'],
  ['accounts.google.com', 'hd'],
  // The tenant of all personal Microsoft accounts.
  ['https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0', 'sub'],
]);

const ENTRA_HOSTS: ReadonlySet<string> = new Set([
  'login.microsoftonline.com',
  'login.microsoftonline.us',
  'login.partner.microsoftonline.cn',
  'sts.windows.net',
]);
const ENTRA_ALL_TENANTS = /^\/(?:common|organizations|consumers|(?:\{|%7b).*)(?:\/|$)/i;

/** A claim that tells one's own tokens of this issuer from everybody's; undefined for an issuer of one's own. */
export function tellingClaim(issuer: string): string | undefined {
  return OPEN_TO_EVERYBODY.get(issuer);
}

/** Whether this is where any tenant of Entra signs in, which no token names as its issuer. */
export function isEntraForAllTenants(issuer: string): boolean {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  return url !== undefined && ENTRA_HOSTS.has(url.hostname) && ENTRA_ALL_TENANTS.test(url.pathname);
}
