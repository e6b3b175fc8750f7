import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createKeyPair } from '@svc/testkit';
import type { JWK } from 'jose';
import { Provider, type Configuration } from 'oidc-provider';
import { AUTHORITY, CERTIFICATE, CERTIFICATE_KEY } from '../requirements/certificates.testing.ts';
import { trustingFetch } from './trusting-fetch.testing.ts';

/** A certified OpenID provider on loopback TLS, whose users sign in and consent by themselves. */
export interface IdentityProvider {
  readonly issuer: string;
  /** Trusts the certificate of the provider. */
  readonly fetch: typeof fetch;
  /** A token for a client of its own account, by the client's secret. */
  clientCredentials(scope: string): Promise<string>;
  /** The next tokens are signed by a new key; with `keepsOld` the old one stays in the key set. */
  rotateKeys(options: { readonly keepsOld: boolean }): Promise<void>;
  /** Requests for the key set since the start. */
  readonly keySetRequests: number;
  stop(): Promise<void>;
}

export interface IdentityProviderOptions {
  /** What tokens are for. */
  readonly resource: string;
  readonly scopes: readonly string[];
  /** Claims of each user's tokens. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** How long an access token lives. */
  readonly tokenSeconds?: number;
  /** The document of a client that is known by its URL, and that URL. */
  readonly clientDocument?: Readonly<Record<string, unknown>> & { readonly client_id: string };
  /** A client that was registered by hand, without a secret. */
  readonly publicClient?: { readonly id: string; readonly redirectUri: string };
}

const MACHINE = { id: 'machine', secret: 'a secret of the tests, long enough' };
const USER = 'user-7';

export async function startIdentityProvider(options: IdentityProviderOptions): Promise<IdentityProvider> {
  const server = createServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('cannot tell the port of the provider');
  const issuer = `https://localhost:${address.port}`;
  let keys = [newKey('key-1')];
  let provider = createProvider(issuer, keys, options);
  let keySetRequests = 0;
  server.on('request', (request, response) => {
    const path = request.url ?? '';
    if (path.startsWith('/jwks')) keySetRequests += 1;
    if (path.startsWith('/interaction/')) void consent(provider, request, response);
    else void provider.callback()(request, response);
  });
  const get = trustingFetch(AUTHORITY);
  return {
    issuer,
    fetch: get,
    get keySetRequests() {
      return keySetRequests;
    },
    async clientCredentials(scope) {
      const answer = await get(`${issuer}/token`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(`${MACHINE.id}:${encodeURIComponent(MACHINE.secret)}`).toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          scope,
          resource: options.resource,
        }).toString(),
      });
      const body: unknown = await answer.json();
      if (typeof body === 'object' && body !== null && 'access_token' in body)
        return String(body.access_token);
      throw new Error(`no token: ${JSON.stringify(body)}`);
    },
    async rotateKeys({ keepsOld }) {
      keys = [newKey(`key-${keys.length + 1}-${Date.now()}`), ...(keepsOld ? keys : [])];
      provider = createProvider(issuer, keys, options);
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function newKey(kid: string): JWK {
  return {
    ...(createKeyPair('RS256').privateKey.export({ format: 'jwk' }) as JWK),
    kid,
    alg: 'RS256',
    use: 'sig',
  };
}

function createProvider(issuer: string, keys: readonly JWK[], options: IdentityProviderOptions): Provider {
  const { resource, scopes, claims, tokenSeconds = 300, clientDocument, publicClient } = options;
  const configuration: Configuration = {
    jwks: { keys: [...keys] as NonNullable<Configuration['jwks']>['keys'] },
    clients: [
      {
        client_id: MACHINE.id,
        client_secret: MACHINE.secret,
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
      },
      ...(publicClient === undefined
        ? []
        : [
            {
              client_id: publicClient.id,
              redirect_uris: [publicClient.redirectUri],
              grant_types: ['authorization_code', 'refresh_token'],
              token_endpoint_auth_method: 'none' as const,
              application_type: 'native' as const,
            },
          ]),
    ],
    scopes: ['openid', 'offline_access', ...scopes],
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...claims }) }),
    extraTokenClaims: () => ({ ...claims }),
    pkce: { required: () => true },
    cookies: { keys: ['of the tests'] },
    ttl: {
      AccessToken: tokenSeconds,
      ClientCredentials: tokenSeconds,
      Interaction: 60,
      Session: 60,
      Grant: 600,
    },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    issueRefreshToken: () => true,
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      registration: { enabled: true },
      clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: scopes.join(' '),
          audience: resource,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    fetch: async (url) =>
      new URL(url instanceof Request ? url.url : url).href === clientDocument?.client_id
        ? Response.json(clientDocument)
        : new Response('not found', { status: 404 }),
  };
  return new Provider(issuer, configuration);
}

/** What a user would do on the pages of the provider: sign in, and allow what the client asks for. */
async function consent(
  provider: Provider,
  request: Parameters<Provider['interactionDetails']>[0],
  response: Parameters<Provider['interactionDetails']>[1],
): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    await provider.interactionFinished(request, response, { login: { accountId: USER } });
    return;
  }
  const grant = new provider.Grant({
    accountId: session?.accountId ?? USER,
    clientId: typeof params['client_id'] === 'string' ? params['client_id'] : '',
  });
  grant.addOIDCScope(typeof params['scope'] === 'string' ? params['scope'] : 'openid');
  const missing: unknown = prompt.details['missingResourceScopes'];
  for (const [resource, scopes] of Object.entries(missing ?? {})) {
    grant.addResourceScope(resource, [scopes].flat().join(' '));
  }
  const grantId = await grant.save();
  await provider.interactionFinished(
    request,
    response,
    { consent: { grantId } },
    { mergeWithLastSubmission: true },
  );
}
