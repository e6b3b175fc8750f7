import { parseArgs } from 'node:util';
import { nearestWithin } from '@svc/edge';
import type { Claims } from '@svc/identity';
import { INSTANT_ACCEPTED, parseInstant } from '../auth/api-keys/instant.ts';
import {
  isCapabilityName,
  isKeyId,
  isKeyName,
  KEY_NAME_ACCEPTED,
  keyFormOf,
} from '../auth/api-keys/key-form.ts';
import { parseClaimFlags } from './claim-flags.ts';

export type Command =
  | { readonly command: 'run'; readonly envFile: string | undefined }
  | {
      readonly command: 'create-key';
      readonly name: string;
      /** Checked names, or `['*']`. */
      readonly capabilities: readonly string[];
      /** These as they are written into the record; undefined where it shall not have them. */
      readonly principal: string | undefined;
      readonly claims: Claims | undefined;
      readonly expiresAt: string | undefined;
      readonly json: boolean;
    }
  | { readonly command: 'create-agent-secret'; readonly json: boolean }
  | {
      readonly command: 'revoke-key';
      readonly keyId: string;
      readonly envFile: string | undefined;
      readonly json: boolean;
    }
  | { readonly command: 'help' }
  | { readonly command: 'version' }
  /** Exit code 2; the message is one line and says what to do. */
  | { readonly command: 'wrong-usage'; readonly message: string };

const OPTIONS = {
  'env-file': { type: 'string' },
  name: { type: 'string' },
  capabilities: { type: 'string' },
  principal: { type: 'string' },
  claim: { type: 'string' },
  'expires-at': { type: 'string' },
  'key-id': { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const;
export type Flag = keyof typeof OPTIONS;

const COMMANDS = ['create-key', 'revoke-key', 'create-agent-secret', 'create-agent'] as const;
export type CommandName = (typeof COMMANDS)[number] | 'run';

export const FLAGS: Readonly<Record<CommandName, readonly Flag[]>> = {
  run: ['env-file', 'help', 'version'],
  'create-key': ['name', 'capabilities', 'principal', 'claim', 'expires-at', 'json', 'help', 'version'],
  'revoke-key': ['key-id', 'env-file', 'json', 'help', 'version'],
  'create-agent-secret': ['json', 'help', 'version'],
  'create-agent': ['json', 'help', 'version'],
};
/** Reads what stands after `svc-gateway` on the command line. */
export function parseArguments(argv: readonly string[]): Command {
  const { tokens } = parseArgs({
    args: [...argv],
    options: OPTIONS,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  // A misspelt flag leaves its value behind as a word, so flags are judged before words.
  const stray = tokens.find((token) => token.kind === 'option' && !Object.hasOwn(OPTIONS, token.name));
  if (stray?.kind === 'option') {
    return wrong(
      `unknown flag ${stray.rawName}`,
      stray.rawName,
      Object.keys(OPTIONS).map((known) => `--${known}`),
    );
  }
  const words = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []));
  const [word, surplus] = words;
  const name = word === undefined ? 'run' : COMMANDS.find((command) => command === word);
  if (name === undefined) return wrong(`unknown command ${word}`, word ?? '', COMMANDS);

  const values = new Map<Flag, string>();
  const claims: string[] = [];
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const flag = FLAGS[name].find((known) => known === token.name);
    if (flag === undefined) {
      const here = name === 'run' ? '' : ` for ${name}`;
      return wrong(
        `unknown flag ${token.rawName}${here}`,
        token.rawName,
        FLAGS[name].map((known) => `--${known}`),
      );
    }
    if (values.has(flag) && flag !== 'claim') return wrong(`--${flag} is given twice`);
    if (OPTIONS[flag].type === 'string') {
      if (token.value === undefined || (!token.inlineValue && token.value.startsWith('--'))) {
        return wrong(`--${flag} needs a value`);
      }
    } else if (token.value !== undefined) {
      return wrong(`--${flag} takes no value`);
    }
    values.set(flag, token.value ?? '');
    if (flag === 'claim') claims.push(token.value ?? '');
  }
  if (values.has('help')) return { command: 'help' };
  if (values.has('version')) return { command: 'version' };
  if (surplus !== undefined) return wrong(`unexpected argument ${surplus}`);

  switch (name) {
    case 'run':
      return { command: 'run', envFile: values.get('env-file') };
    case 'create-key':
      return createKeyCommand(values, claims);
    case 'revoke-key':
      return revokeKeyCommand(values);
    case 'create-agent-secret':
    case 'create-agent':
      return { command: 'create-agent-secret', json: values.has('json') };
  }
}

function createKeyCommand(values: ReadonlyMap<Flag, string>, claimFlags: readonly string[]): Command {
  const name = values.get('name');
  const list = values.get('capabilities');
  if (name === undefined) return wrong('create-key needs --name <name of the key, as it appears in logs>');
  if (!isKeyName(name)) return wrong(`--name is not accepted; accepted: ${KEY_NAME_ACCEPTED}`);
  if (list === undefined)
    return wrong('create-key needs --capabilities <names separated by commas, or "*" for all>');

  const capabilities = list.split(',').map((item) => item.trim());
  const all = capabilities.length === 1 && capabilities[0] === '*';
  const odd = capabilities.find((item) => !isCapabilityName(item));
  if (!all && odd !== undefined) {
    const rule = 'names of lower-case letters, digits and _, separated by commas, or "*" alone';
    return wrong(`--capabilities: ${JSON.stringify(odd)} is not accepted; accepted: ${rule}`);
  }
  const principal = values.get('principal');
  if (principal !== undefined && !isKeyName(principal)) {
    return wrong(`--principal is not accepted; accepted: ${KEY_NAME_ACCEPTED}`);
  }
  const expiresAt = values.get('expires-at');
  if (expiresAt !== undefined && parseInstant(expiresAt) === undefined) {
    return wrong(`--expires-at: ${JSON.stringify(expiresAt)} is not accepted; accepted: ${INSTANT_ACCEPTED}`);
  }
  const parsed = parseClaimFlags(claimFlags);
  if (!parsed.ok) return wrong(parsed.problem);
  return {
    command: 'create-key',
    name,
    capabilities: [...new Set(capabilities)],
    principal,
    claims: parsed.claims,
    expiresAt,
    json: values.has('json'),
  };
}

function revokeKeyCommand(values: ReadonlyMap<Flag, string>): Command {
  const keyId = values.get('key-id');
  if (keyId === undefined) return wrong('revoke-key needs --key-id <key_id of the record of the key>');
  // What is written there by mistake may be the secret itself, so it is not repeated.
  if (keyFormOf(keyId).kind === 'created') {
    return wrong('--key-id is a whole key; it takes what stands between svc_ and the second _');
  }
  if (!isKeyId(keyId)) return wrong('--key-id is not accepted; accepted: 1 to 32 letters and digits');
  return { command: 'revoke-key', keyId, envFile: values.get('env-file'), json: values.has('json') };
}

function wrong(problem: string, word = '', candidates: readonly string[] = []): Command {
  const close = nearestWithin(word, candidates);
  const hint = close === undefined ? '' : `; did you mean ${close}?`;
  return { command: 'wrong-usage', message: `${problem}${hint} (see svc-gateway --help)` };
}
