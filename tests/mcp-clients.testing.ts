import * as current from '@modelcontextprotocol/client';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** What the tests need of an official client, whatever its generation. */
export interface ConnectedClient {
  /** The revision that both sides agreed on. */
  readonly revision: string | undefined;
  readonly server: string | undefined;
  /** Messages of errors that concern no call, such as an answer that nobody waits for. */
  readonly complaints: readonly string[];
  /** The names of all tools, all pages. */
  toolNames(): Promise<readonly string[]>;
  call(name: string, params: Record<string, unknown>, signal?: AbortSignal): Promise<ToolResult>;
  close(): Promise<void>;
}

interface ToolResult {
  readonly structured: unknown;
  readonly texts: readonly string[];
  readonly isError: boolean;
}

interface ConnectOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Makes the client one that would sign in; hears where it would send its user. */
  readonly onSignIn?: (url: URL) => void;
}

/** Rejects with the client's own error; nothing is left open then. */
export type Connect = (url: string, options: ConnectOptions) => Promise<ConnectedClient>;

const IDENTITY = { name: 'svc-tests', version: '1.0.0' };

/** The client of the second generation, which speaks the revisions up to 2025-11-25 and 2026-07-28. */
export function connectCurrent(mode: current.VersionNegotiationMode): Connect {
  return async (url, { headers, onSignIn }) => {
    const client = new current.Client(IDENTITY, { versionNegotiation: { mode } });
    const complaints: string[] = [];
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it is no event target
    client.onerror = ({ message }) => complaints.push(message);
    const transport = new current.StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers },
      ...(onSignIn === undefined ? {} : { authProvider: signInProvider(onSignIn) }),
    });
    await orClose(client.connect(transport), () => client.close());
    return {
      revision: client.getNegotiatedProtocolVersion(),
      server: client.getServerVersion()?.name,
      complaints,
      toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: async (name, params, signal) =>
        readResult(
          await client.callTool({ name, arguments: params }, signal === undefined ? {} : { signal }),
        ),
      close: () => client.close(),
    };
  };
}

/** The client of the first generation. */
export const connectFirst: Connect = async (url, { headers, onSignIn }) => {
  const client = new FirstClient(IDENTITY);
  const complaints: string[] = [];
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it is no event target
  client.onerror = ({ message }) => complaints.push(message);
  const transport = new FirstTransport(new URL(url), {
    requestInit: { headers },
    ...(onSignIn === undefined ? {} : { authProvider: signInProvider(onSignIn) }),
  });
  await orClose(client.connect(transport), () => client.close());
  return {
    revision: transport.protocolVersion,
    server: client.getServerVersion()?.name,
    complaints,
    async toolNames() {
      const names: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await client.listTools(cursor === undefined ? {} : { cursor });
        names.push(...page.tools.map(({ name }) => name));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      return names;
    },
    call: async (name, params, signal) =>
      readResult(
        await client.callTool({ name, arguments: params }, undefined, signal === undefined ? {} : { signal }),
      ),
    close: () => client.close(),
  };
};

async function orClose(connected: Promise<void>, close: () => Promise<void>): Promise<void> {
  try {
    await connected;
  } catch (error) {
    await close();
    throw error;
  }
}

function readResult(result: object): ToolResult {
  const content: unknown = 'content' in result ? result.content : undefined;
  const items: readonly unknown[] = Array.isArray(content) ? content : [];
  return {
    structured: 'structuredContent' in result ? result.structuredContent : undefined,
    texts: items.map((item) => {
      const isText = typeof item === 'object' && item !== null && 'text' in item;
      return isText ? String(item.text) : JSON.stringify(item);
    }),
    isError: 'isError' in result && result.isError === true,
  };
}

/** Knows no token yet, like a client that was configured for the first time. */
function signInProvider(onSignIn: (url: URL) => void): current.OAuthClientProvider {
  return {
    redirectUrl: 'http://127.0.0.1:1/callback',
    clientMetadata: { client_name: 'svc-tests', redirect_uris: ['http://127.0.0.1:1/callback'] },
    clientInformation: () => undefined,
    saveClientInformation: () => {},
    tokens: () => undefined,
    saveTokens: () => {},
    redirectToAuthorization: onSignIn,
    saveCodeVerifier: () => {},
    codeVerifier: () => 'verifier',
  };
}
