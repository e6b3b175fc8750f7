import * as current from '@modelcontextprotocol/client';
import { StdioClientTransport as CurrentStdio } from '@modelcontextprotocol/client/stdio';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as FirstStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';

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

/** Starts this command as its server; rejects as `Connect` does. */
export type Start = (command: string, args: readonly string[]) => Promise<ConnectedClient>;

const IDENTITY = { name: 'svc-tests', version: '1.0.0' };

/** The client of the second generation, which speaks the revisions up to 2025-11-25 and 2026-07-28. */
export function connectCurrent(mode: current.VersionNegotiationMode): Connect {
  return (url, { headers, onSignIn }) =>
    connectedCurrent(
      mode,
      new current.StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers },
        ...(onSignIn === undefined ? {} : { authProvider: signInProvider(onSignIn) }),
      }),
    );
}

/** The same, which starts the server. */
export function startCurrent(mode: current.VersionNegotiationMode): Start {
  return (command, args) =>
    connectedCurrent(mode, new CurrentStdio({ command, args: [...args], stderr: 'pipe' }));
}

async function connectedCurrent(
  mode: current.VersionNegotiationMode,
  transport: current.Transport,
): Promise<ConnectedClient> {
  const client = new current.Client(IDENTITY, { versionNegotiation: { mode } });
  const complaints: string[] = [];
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it is no event target
  client.onerror = ({ message }) => complaints.push(message);
  await orClose(client.connect(transport), () => client.close());
  return {
    revision: client.getNegotiatedProtocolVersion(),
    server: client.getServerVersion()?.name,
    complaints,
    toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, params, signal) =>
      readResult(await client.callTool({ name, arguments: params }, signal === undefined ? {} : { signal })),
    close: () => client.close(),
  };
}

/** The client of the first generation. */
export const connectFirst: Connect = (url, { headers, onSignIn }) =>
  connectedFirst(
    new FirstTransport(new URL(url), {
      requestInit: { headers },
      ...(onSignIn === undefined ? {} : { authProvider: signInProvider(onSignIn) }),
    }),
  );

/** The same, which starts the server. */
export const startFirst: Start = (command, args) =>
  connectedFirst(new FirstStdio({ command, args: [...args], stderr: 'pipe' }));

async function connectedFirst(transport: Transport): Promise<ConnectedClient> {
  const client = new FirstClient(IDENTITY);
  const complaints: string[] = [];
  let revision: string | undefined;
  const named = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    revision = version;
    named?.(version);
  };
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it is no event target
  client.onerror = ({ message }) => complaints.push(message);
  await orClose(client.connect(transport), () => client.close());
  return {
    revision,
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
}

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
