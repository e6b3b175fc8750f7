import type { VerificationFault } from '../databases/driver/errors.ts';
import type { ExampleCall } from './example-call.ts';

/** Shows a person or a program what happens at the workbench. */
export interface Display {
  /** Everything can be called; once. */
  ready(ready: Ready): void;
  /** Nothing can be called, since there is no gateway, but what is saved is checked; once. */
  watching(watching: Pick<Ready, 'file' | 'capabilities' | 'consoleUrl'>): void;
  /** What was saved has passed the checks, and is served where there is a gateway. */
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
  /** Absent where no parameters could be made up for any. */
  readonly example?: ExampleCall | undefined;
}

interface Accepted {
  readonly served: boolean;
  readonly capabilities: number;
  /** How many the database was asked about: the verdict on the others stands. */
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
  /** Whether what was there before is served on. */
  readonly servesOn: boolean;
}

export interface ShownCall {
  readonly requestId: string;
  /** Of the capability, else what was asked for. */
  readonly name: string;
  readonly status: number;
  readonly durationMs: number;
  /** Empty for none. */
  readonly errorCode: string;
  /** Absent where the agent was not asked. */
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

/** What an MCP client has in its configuration. */
export function clientConfiguration(url: string, apiKey: string): object {
  const headers = { Authorization: `Bearer ${apiKey}` };
  return { mcpServers: { dev: { type: 'http', url: `${url}/mcp`, headers } } };
}
