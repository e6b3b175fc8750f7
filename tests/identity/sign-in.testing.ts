import * as current from '@modelcontextprotocol/client';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** How a client gets the id by which the provider knows it. */
export type Registration =
  /** The URL of a document about the client. */
  | { readonly kind: 'document'; readonly url: string }
  /** The client registers itself. */
  | { readonly kind: 'dynamic' }
  /** Somebody has registered it by hand. */
  | { readonly kind: 'manual'; readonly clientId: string };

interface SignedInClient {
  toolNames(): Promise<readonly string[]>;
  /** What a tool answers, as the client hands it on. */
  call(name: string, params: Record<string, unknown>): Promise<unknown>;
  /** How often the client has got tokens: by the first sign-in, and by each refresh. */
  readonly tokenGrants: number;
  /** How often its user had to sign in. */
  readonly signIns: number;
  close(): Promise<void>;
}

/** Signs a user in, as its browser would, and gives back the address that the provider sends it to in the end. */
export type SignIn = (authorizationUrl: URL) => Promise<URL>;

export const REDIRECT_URI = 'http://127.0.0.1:1/callback';
const IDENTITY = { name: 'svc-tests', version: '1.0.0' };

/** Follows the provider's redirects with its cookies until one leads to the client. */
export function browser(get: typeof fetch): SignIn {
  return async (authorizationUrl) => {
    const cookies = new Map<string, string>();
    let url = authorizationUrl;
    for (let step = 0; step < 10; step++) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const answer = await get(url, { headers: { cookie }, redirect: 'manual' });
      for (const set of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        cookies.set(name, value);
      }
      const location = answer.headers.get('location');
      if (location === null) throw new Error(`no redirect: ${answer.status} ${await answer.text()}`);
      url = new URL(location, url);
      if (url.href.startsWith(REDIRECT_URI)) return url;
    }
    throw new Error('the provider redirects for ever');
  };
}

interface Tokens {
  readonly access_token: string;
  readonly token_type: string;
}

/** What both generations of the client ask of whoever keeps their tokens. */
function createTokenStore(registration: Registration, signIn: SignIn): TokenStore {
  let clientInformation: { readonly client_id: string } | undefined =
    registration.kind === 'manual' ? { client_id: registration.clientId } : undefined;
  let tokens: Tokens | undefined;
  let verifier = '';
  const counts = { tokenGrants: 0, signIns: 0 };
  let callback: URL | undefined;
  return {
    provider: {
      redirectUrl: REDIRECT_URI,
      ...(registration.kind === 'document' ? { clientMetadataUrl: registration.url } : {}),
      clientMetadata: {
        client_name: 'svc-tests',
        redirect_uris: [REDIRECT_URI],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        application_type: 'native',
      },
      clientInformation: () => clientInformation,
      saveClientInformation: (information: { readonly client_id: string }) => {
        clientInformation = information;
      },
      tokens: () => tokens,
      saveTokens: (saved: Tokens) => {
        tokens = saved;
        counts.tokenGrants += 1;
      },
      redirectToAuthorization: async (url: URL) => {
        counts.signIns += 1;
        callback = await signIn(url);
      },
      saveCodeVerifier: (saved: string) => {
        verifier = saved;
      },
      codeVerifier: () => verifier,
    },
    counts,
    takeCallback() {
      const taken = callback;
      callback = undefined;
      if (taken === undefined) throw new Error('the client did not send its user to the provider');
      return taken.searchParams;
    },
  };
}

interface TokenStore {
  // oxlint-disable-next-line typescript/no-explicit-any -- the two generations name the same shape differently
  readonly provider: any;
  readonly counts: { readonly tokenGrants: number; readonly signIns: number };
  takeCallback(): URLSearchParams;
}

export type ConnectSignedIn = (
  url: string,
  options: { readonly registration: Registration; readonly signIn: SignIn; readonly fetch: typeof fetch },
) => Promise<SignedInClient>;

function signedIn(client: current.Client | FirstClient, { counts }: TokenStore): SignedInClient {
  return {
    toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, params) => (await client.callTool({ name, arguments: params })).structuredContent,
    get tokenGrants() {
      return counts.tokenGrants;
    },
    get signIns() {
      return counts.signIns;
    },
    close: () => client.close(),
  };
}

/** The client of the second generation. */
export const connectSecond: ConnectSignedIn = async (url, { registration, signIn, fetch }) => {
  const store = createTokenStore(registration, signIn);
  const transport = (): current.StreamableHTTPClientTransport =>
    new current.StreamableHTTPClientTransport(new URL(url), { authProvider: store.provider, fetch });
  const client = new current.Client(IDENTITY, { versionNegotiation: { mode: 'auto' } });
  const first = transport();
  await client.connect(first).catch(async (error: unknown) => {
    if (!(error instanceof current.UnauthorizedError)) throw error;
    await first.finishAuth(store.takeCallback());
    await client.connect(transport());
  });
  return signedIn(client, store);
};

/** The client of the first generation. */
export const connectFirst: ConnectSignedIn = async (url, { registration, signIn, fetch }) => {
  const store = createTokenStore(registration, signIn);
  const transport = (): FirstTransport =>
    new FirstTransport(new URL(url), { authProvider: store.provider, fetch });
  let client = new FirstClient(IDENTITY);
  const first = transport();
  await client.connect(first).catch(async (error: unknown) => {
    if (!(error instanceof Error) || error.constructor.name !== 'UnauthorizedError') throw error;
    await first.finishAuth(store.takeCallback().get('code') ?? '');
    client = new FirstClient(IDENTITY);
    await client.connect(transport());
  });
  return signedIn(client, store);
};
