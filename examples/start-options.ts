import { parseArgs } from 'node:util';

export interface StartOptions {
  readonly help: boolean;
  /** One JSON line instead of text. */
  readonly json: boolean;
  /** Keep the database, and use it again at the next start. */
  readonly keep: boolean;
  /** Undefined: 8080, or a free port if that is taken. */
  readonly port: number | undefined;
}

export const usage = `Usage: npm start -- [options]

Starts PostgreSQL with sample data, the gateway and an agent, and runs them until Ctrl-C.

  --port N   listen on 127.0.0.1:N (default 8080, or a free port when it is taken)
  --keep     keep the database and the keys, and use them again at the next start with --keep
  --json     print one JSON line about what is running instead of text
  --help     print this
`;

export function parseOptions(args: readonly string[]): StartOptions | { readonly fault: string } {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        json: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        port: { type: 'string' },
      },
    });
    const { help, json, keep, port } = values;
    if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535)) {
      return { fault: `cannot use --port ${port}: give a number from 1 to 65535` };
    }
    return { help, json, keep, port: port === undefined ? undefined : Number(port) };
  } catch (error) {
    return { fault: `cannot start: ${error instanceof Error ? error.message : String(error)}` };
  }
}
