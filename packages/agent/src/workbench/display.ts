import type { VerificationFault } from '../databases/driver/errors.ts';
import type { ExampleCall } from './example-call.ts';

/** Shows a person or a program what happens at the workbench. */
export interface Display {
  /** Called once, when everything can be called. */
  ready(ready: Ready): void;
  /** Called once, if there is no gateway: nothing can be called, but each save is checked. */
  watching(watching: Pick<Ready, 'file' | 'capabilities' | 'consoleUrl'>): void;
  /** A save has passed the checks, and is served if there is a gateway. */
  accepted(accepted: Accepted): void;
  refused(refused: Refused): void;
  called(call: ShownCall): void;
  /** A line about something else. */
  note(line: string): void;
}

interface Ready {
  readonly file: string;
  readonly capabilities: number;
  readonly url: string;
  readonly apiKey: string;
  /** With the token that opens it. */
  readonly consoleUrl: string;
  /** Absent if no parameters could be invented for any. */
  readonly example?: ExampleCall | undefined;
}

interface Accepted {
  readonly served: boolean;
  readonly capabilities: number;
  /** How many the database was asked about: the others had passed before. */
  readonly asked: number;
  /** Names with commas between them; absent for none. */
  readonly added?: string | undefined;
  readonly changed?: string | undefined;
  readonly removed?: string | undefined;
  readonly durationMs: number;
}

export interface Refused {
  readonly file: string;
  readonly content: Uint8Array | undefined;
  readonly faults: readonly VerificationFault[];
  /** Whether the last accepted save is still served. */
  readonly servesOn: boolean;
}

export interface ShownCall {
  readonly requestId: string;
  /** The capability; if there is none, the request. */
  readonly name: string;
  readonly status: number;
  readonly durationMs: number;
  /** Empty for none. */
  readonly errorCode: string;
  /** Absent if the agent was not asked. */
  readonly rows?: number | undefined;
  readonly bytes?: number | undefined;
  /** Database text. */
  readonly detail?: string | undefined;
}

export interface Output {
  write(text: string): unknown;
}

export function curlCommand(url: string, apiKey: string, { capability, params }: ExampleCall): string {
  const body = JSON.stringify(params).replaceAll("'", '\\u0027');
  return `curl -sS ${url}/api/v1/capabilities/${capability} -H 'Authorization: Bearer ${apiKey}' -H 'Content-Type: application/json' -d '${body}'`;
}

/** The entry in the configuration of an MCP client. */
export function clientConfiguration(url: string, apiKey: string): object {
  const headers = { Authorization: `Bearer ${apiKey}` };
  return { mcpServers: { dev: { type: 'http', url: `${url}/mcp`, headers } } };
}
