import type { FlagSpec, ProgramSpec } from '@svc/edge';
import { SETTINGS, type SettingText } from '../config/settings.ts';

/** Of the table of settings, which is 93 columns wide. */
const NAME_WIDTH = 40;
const INDENT = ' '.repeat(NAME_WIDTH + 2);
const TEXT_WIDTH = 51;
const JSON_OUTPUT = 'Print one JSON object instead of text:';
const ENV_FILE: FlagSpec = {
  value: 'path',
  does: 'Read more settings from a file of NAME=value lines; the environment itself wins. When it is not there, Node.js itself ends with exit code 9.',
  suggest: 'file',
};

/** The command line of svc-gateway. */
export const PROGRAM: ProgramSpec = {
  name: 'svc-gateway',
  run: {
    does: 'Run the gateway until a signal ends it. It is configured by environment variables; --env-file reads more of them from a file (NAME=value lines; the environment itself wins).',
    flags: { 'env-file': ENV_FILE },
  },
  commands: {
    'create-key': {
      does: 'Create an API key for a caller: print the key once, and add its record to the file of --file. Without --file the record is printed, for GATEWAY_API_KEYS_JSON or the file of keys or services, and nothing is stored.',
      flags: {
        name: {
          value: 'name',
          isRequired: true,
          does: 'The name of the key, as it appears in logs: 1 to 128 characters without control characters.',
        },
        capabilities: {
          value: 'a,b|"*"',
          isRequired: true,
          does: 'Names separated by commas, or `"*"` for all; mind the quotes.',
        },
        claim: {
          value: 'name=text',
          mayRepeat: true,
          does: '`name=text`, or `name:=json` for a number, true, false or a list of texts. What capabilities may take of their caller as parameters that it neither sees nor sets.',
        },
        principal: {
          value: 'name',
          does: 'Whose key it is; by default the name. Several keys of one principal count as one caller, and must have equal capabilities and claims.',
        },
        'expires-at': {
          value: 'time',
          does: 'From when on the key is refused: a date and time of RFC 3339 with its offset, like `2027-01-31T00:00:00Z`.',
        },
        file: {
          value: 'path',
          does: 'Add the record to this file, a JSON array of records, which GATEWAY_API_KEYS_FILE names. A new file has the mode 0600; one that is there keeps its records, its mode and its owner. When the record cannot be added, the file stays as it is, no key is printed, and the command ends with 2.',
          suggest: 'file',
        },
        json: { does: `${JSON_OUTPUT} \`{"api_key": "...", "record": {...}}\`` },
      },
    },
    'revoke-key': {
      does: 'Have all gateways that share GATEWAY_VALKEY_URL and GATEWAY_VALKEY_PREFIX refuse an API key from now on, within three seconds, and until its record is removed, which is still to be done. Ends with 1 when Valkey does not take it.',
      flags: {
        'key-id': {
          value: 'id',
          isRequired: true,
          does: '`key_id` of the record of the key: what stands in the key between `svc_` and the second `_`.',
        },
        'env-file': {
          ...ENV_FILE,
          does: 'Read the settings from a file, as the gateway does. Only those of Valkey are needed.',
        },
        json: {
          does: `${JSON_OUTPUT} \`{"key_id": "...", "revoked_before": false, "record_found": true}\`; the last is null where the settings have no records.`,
        },
      },
    },
    'create-agent-secret': {
      aliases: ['create-agent'],
      does: 'Create the key pair by which an agent proves itself to the gateway. Prints both keys with the settings that they belong to. Stores nothing.',
      flags: { json: { does: `${JSON_OUTPUT} \`{"agent_private_key": "...", "agent_public_key": "..."}\`` } },
    },
    'create-console-token': {
      does: 'Create the token that opens the console of operators. Prints it with the setting that its hash belongs to. Stores nothing.',
      flags: { json: { does: `${JSON_OUTPUT} \`{"console_token": "...", "console_token_sha256": "..."}\`` } },
    },
  },
  notes: `Required settings:
${settingLines('required')}
Optional settings:
${settingLines('optional')}
Exit codes: 0 fine, 1 failure at run time, 2 wrong usage or configuration.
`,
};

/** A line each: the name, what it is for, and at the right edge what holds without it. */
function settingLines(which: 'required' | 'optional'): string {
  return Object.entries<SettingText>(SETTINGS)
    .filter(([, { absent }]) => (absent === 'required') === (which === 'required'))
    .map(([name, { help, absent }]) => {
      const text = absent !== 'required' && 'value' in absent ? `${help} (${absent.value})` : help;
      const [, does = text, standard = ''] = /^(.*) (\([^()]*\))$/.exec(text) ?? [];
      const begin = `  ${name.padEnd(NAME_WIDTH)}`;
      const gap = begin.length > NAME_WIDTH + 2 ? `\n${INDENT}` : '';
      const line = does.replaceAll('\n', `\n${INDENT}`);
      return `${begin}${gap}${standard === '' ? line : line.padEnd(TEXT_WIDTH - standard.length) + standard}\n`;
    })
    .join('');
}
