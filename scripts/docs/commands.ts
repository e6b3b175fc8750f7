import type { FLAGS_OF } from '../../packages/agent/src/cli/arguments.ts';
import type { CommandName, Flag } from '../../packages/gateway/src/cli/arguments.ts';
import { code, table } from './markdown.ts';

interface CommandDoc {
  /** What is typed, with placeholders. */
  readonly line: string;
  readonly does: string;
  readonly flags: Readonly<Record<string, string>>;
}

const HELP = 'Print the commands and flags, and end. Also `-h`.';
const JSON_OUTPUT = 'Print one JSON object instead of text.';
const VERSION = 'Print the version, and end. Also `-v`.';
const CONFIG =
  'The capability file. Else AGENT_CAPABILITY_FILE, else `capability.yaml` in the folder of the real file of `svc-agent`.';

export const GATEWAY_COMMANDS: Readonly<Record<CommandName, CommandDoc>> = {
  run: {
    line: 'svc-gateway',
    does: 'Runs the gateway until a [signal](#signals) ends it.',
    flags: {
      'env-file':
        'Read more settings from a file, see [settings](settings.md#the-environment-file). When it is not there, Node.js itself ends with exit code 9.',
      help: HELP,
      version: VERSION,
    } satisfies Partial<Record<Flag, string>>,
  },
  'create-key': {
    line: 'svc-gateway create-key',
    does: 'Makes an API key. Prints the key once, and the [record](settings.md#api-key-records) for the gateway. Stores nothing.',
    flags: {
      name: 'Required. The name of the key, as it appears in logs: 1 to 128 characters without control characters.',
      capabilities: 'Required. Names separated by commas, or `"*"` for all; mind the quotes.',
      principal:
        'Whose key it is; by default the name. Several keys of one principal count as one caller, and must have equal capabilities and claims.',
      claim:
        '`name=text`, or `name:=json` for a number, true, false or a list of texts; may be given several times. What capabilities may take of their caller as parameters that it neither sees nor sets.',
      'expires-at':
        'From when on the key is refused: a date and time of RFC 3339 with its offset, like `2027-01-31T00:00:00Z`.',
      json: `${JSON_OUTPUT} \`{"api_key": "...", "record": {...}}\``,
      help: HELP,
      version: VERSION,
    } satisfies Partial<Record<Flag, string>>,
  },
  'revoke-key': {
    line: 'svc-gateway revoke-key',
    does: 'Has all gateways that share GATEWAY_VALKEY_URL and GATEWAY_VALKEY_PREFIX [refuse a key](../guides/shared-limits.md#revoke-a-key) within three seconds. Ends with 1 when Valkey does not take it.',
    flags: {
      'key-id':
        'Required. `key_id` of the record of the key: what stands in the key between `svc_` and the second `_`.',
      'env-file': 'Read the settings from a file, as the gateway does. Only those of Valkey are needed.',
      json: `${JSON_OUTPUT} \`{"key_id": "...", "revoked_before": false, "record_found": true}\`; the last is null where the settings have no records.`,
      help: HELP,
      version: VERSION,
    } satisfies Partial<Record<Flag, string>>,
  },
  'create-agent-secret': {
    line: 'svc-gateway create-agent-secret',
    does: 'Makes the key pair of an agent. Prints both keys with the settings that they belong to. Stores nothing.',
    flags: {
      json: `${JSON_OUTPUT} \`{"agent_private_key": "...", "agent_public_key": "..."}\``,
      help: HELP,
      version: VERSION,
    } satisfies Partial<Record<Flag, string>>,
  },
  'create-agent': {
    line: 'svc-gateway create-agent',
    does: 'Another name of `create-agent-secret`.',
    flags: { json: JSON_OUTPUT, help: HELP, version: VERSION } satisfies Partial<Record<Flag, string>>,
  },
};

export const AGENT_COMMANDS: Readonly<Record<keyof typeof FLAGS_OF, CommandDoc>> = {
  run: {
    line: 'svc-agent',
    does: 'Checks the file, the database and every capability, in this order; then connects to the gateway and answers calls until a [signal](#signals) ends it.',
    flags: { '--config': CONFIG, '--help': HELP, '--version': VERSION },
  },
  check: {
    line: 'svc-agent check',
    does: 'Does the same checks, prints a report to standard output, and ends. Does not connect to the gateway.',
    flags: {
      '--config': CONFIG,
      '--offline':
        'Ask no database. With --offline the SQL is parsed and its parameters are matched; tables, columns, types and functions are checked only with the database. Variables and files that the file names must be there.',
      '--json':
        'Print one JSON object instead: `ok`, `file`, `offline`, `capabilities` (how many; absent where the file is not understood), `identity` (what it means; absent where the file has none), `workers` (processes that run the calls; absent where it is the agent alone), `faults` (each with `path`, `message` and, where it is known, `line` and `column`), `warnings` (what is allowed and will fail at some calls, likewise), `log` (the file that says more of them, if it does) and `account` (each `problem` with its `remedy`). Nothing is printed when the check itself fails, which ends with 1.',
      '--help': HELP,
      '--version': VERSION,
    },
  },
  schema: {
    line: 'svc-agent schema',
    does: 'Prints the JSON Schema of the capability file, for [editors](../guides/first-capability-file.md#let-your-editor-help).',
    flags: { '--help': HELP, '--version': VERSION },
  },
};

export function commandList(commands: Readonly<Record<string, CommandDoc>>): string {
  return Object.values(commands)
    .map(({ line, does, flags }) => {
      const rows = Object.entries(flags).map(([flag, text]) => [code(`--${flag.replace(/^--/, '')}`), text]);
      return [`### \`${line}\``, does, table(['Flag', 'Meaning'], rows)].join('\n\n');
    })
    .join('\n\n');
}
