import { styleText } from 'node:util';
import type { Demo } from './start-demo.ts';

export interface Screen {
  /** Prints a line about a finished step, with the time since the start. */
  progress(this: void, line: string): void;
  show(demo: Demo): void;
  failure(error: unknown): void;
}

/** Progress and failures go to standard error, the result to standard output. */
export function createScreen(json: boolean): Screen {
  const colour = process.stdout.isTTY && process.stderr.isTTY && !process.env['NO_COLOR'];
  const paint = (style: Parameters<typeof styleText>[0], text: string): string =>
    colour ? styleText(style, text) : text;
  const started = performance.now();
  const seconds = (): string => `${((performance.now() - started) / 1000).toFixed(1).padStart(5)} s`;
  return {
    progress: (line) => void process.stderr.write(`${paint('dim', seconds())}  ${line}\n`),
    failure: (error) => void process.stderr.write(`${paint('red', describe(error))}\n`),
    show: (demo) =>
      void process.stdout.write(
        json ? `${JSON.stringify(summary(demo))}\n` : text(demo, (it) => paint('bold', it)),
      ),
  };
}

/** An error's message, and those of its causes below. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}\n${describe(error.cause)}`;
}

function summary(demo: Demo): Record<string, unknown> {
  const { url, apiKey, consoleUrl, databaseUrl, credentialsFile, pids, sample, keptIn } = demo;
  return {
    url,
    mcp_url: `${url}/mcp`,
    api_key: apiKey,
    console_url: consoleUrl,
    database_url: databaseUrl,
    credentials_file: credentialsFile,
    pid: process.pid,
    gateway_pid: pids.gateway,
    agent_pid: pids.agent,
    postgres_pid: pids.postgres,
    capability: sample.capability,
    params: sample.params,
    kept_in: keptIn ?? null,
  };
}

function text(demo: Demo, strong: (text: string) => string): string {
  const { url, apiKey, consoleUrl, databaseUrl, credentialsFile, sample, keptIn } = demo;
  const authorization = `Authorization: Bearer ${apiKey}`;
  const client = {
    mcpServers: {
      library: { type: 'http', url: `${url}/mcp`, headers: { Authorization: `Bearer ${apiKey}` } },
    },
  };
  return `
${strong('The gateway is running.')}

  URL      ${url}
  API key  ${apiKey}
  Console  ${consoleUrl}

To try the examples of examples/library/README.md, paste this into another terminal:

export URL=${url} KEY=${apiKey}

${strong('Call a capability over REST')}

curl -sS ${url}/api/v1/capabilities/${sample.capability} -H '${authorization}' -H 'Content-Type: application/json' -d '${JSON.stringify(sample.params)}'

${strong('See everything it offers (OpenAPI)')}

curl -sS ${url}/openapi.json -H '${authorization}'

${strong('Add a capability of your own (docs/guides/first-capability-file.md)')}

The database, as superuser:   psql '${databaseUrl}'
The agent's private key:      agent_private_key in ${credentialsFile}

${strong('Connect an AI client (MCP; more clients: docs/guides/mcp-clients.md)')}

Claude Code:                  claude mcp add --transport http --scope user library ${url}/mcp --header '${authorization}'
Claude Code for one project:  save this as .mcp.json there; it contains the key, so do not share it

${JSON.stringify(client, undefined, 2)}

Press Ctrl-C to stop. ${
    keptIn === undefined
      ? 'Nothing is left behind; start with "npm start -- --keep" to keep the data and the key.'
      : `The data and the key stay in ${keptIn} for the next "npm start -- --keep".`
  }
`;
}
