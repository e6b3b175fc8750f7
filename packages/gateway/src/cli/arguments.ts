import { parseCommandLine, type Given, type ParsedCommand } from '@svc/edge';
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
import { PROGRAM } from './program.ts';

export type Command =
  | { readonly command: 'run'; readonly envFile: string | undefined }
  | {
      readonly command: 'create-key';
      readonly name: string;
      /** Checked names, or `['*']`. */
      readonly capabilities: readonly string[];
      /** These three as they are written into the record; undefined if the record does not get them. */
      readonly principal: string | undefined;
      readonly claims: Claims | undefined;
      readonly expiresAt: string | undefined;
      /** The file of records that gets the new one. */
      readonly file: string | undefined;
      readonly json: boolean;
    }
  | { readonly command: 'create-agent-secret'; readonly json: boolean }
  | { readonly command: 'create-console-token'; readonly json: boolean }
  | {
      readonly command: 'revoke-key';
      readonly keyId: string;
      readonly envFile: string | undefined;
      readonly json: boolean;
    }
  /** For the whole program if `about` is undefined. */
  | { readonly command: 'help'; readonly about: string | undefined }
  | {
      readonly command: 'completion';
      readonly shell: Extract<ParsedCommand, { kind: 'completion' }>['shell'];
    }
  | { readonly command: 'version' }
  /** Exit code 2; the message is one line and says what to do. */
  | { readonly command: 'wrong-usage'; readonly message: string };

/** Reads the command line after `svc-gateway`. */
export function parseArguments(argv: readonly string[]): Command {
  const parsed = parseCommandLine(PROGRAM, argv);
  switch (parsed.kind) {
    case 'help':
      return { command: 'help', about: parsed.command };
    case 'version':
      return { command: 'version' };
    case 'completion':
      return { command: 'completion', shell: parsed.shell };
    case 'usage_error':
      return wrong(parsed.message);
    case 'command':
      return commandOf(parsed.name, parsed.given);
  }
}

function commandOf(name: string | undefined, given: Given): Command {
  switch (name) {
    case 'create-key':
      return createKeyCommand(given);
    case 'revoke-key':
      return revokeKeyCommand(given);
    case 'create-agent-secret':
      return { command: 'create-agent-secret', json: given.has('json') };
    case 'create-console-token':
      return { command: 'create-console-token', json: given.has('json') };
    default:
      return { command: 'run', envFile: given.value('env-file') };
  }
}

function createKeyCommand(given: Given): Command {
  const name = given.value('name') ?? '';
  const list = given.value('capabilities') ?? '';
  if (!isKeyName(name)) return wrong(`--name is not accepted; accepted: ${KEY_NAME_ACCEPTED}`);
  const capabilities = list.split(',').map((item) => item.trim());
  const all = capabilities.length === 1 && capabilities[0] === '*';
  const odd = capabilities.find((item) => !isCapabilityName(item));
  if (!all && odd !== undefined) {
    const rule = 'names of lower-case letters, digits and _, separated by commas, or "*" alone';
    return wrong(`--capabilities: ${JSON.stringify(odd)} is not accepted; accepted: ${rule}`);
  }
  const principal = given.value('principal');
  if (principal !== undefined && !isKeyName(principal)) {
    return wrong(`--principal is not accepted; accepted: ${KEY_NAME_ACCEPTED}`);
  }
  const expiresAt = given.value('expires-at');
  if (expiresAt !== undefined && parseInstant(expiresAt) === undefined) {
    return wrong(`--expires-at: ${JSON.stringify(expiresAt)} is not accepted; accepted: ${INSTANT_ACCEPTED}`);
  }
  const file = given.value('file');
  if (file === '') return wrong('--file is empty; accepted: the path of a file of records');
  const parsed = parseClaimFlags(given.values('claim'));
  if (!parsed.ok) return wrong(parsed.problem);
  return {
    command: 'create-key',
    name,
    capabilities: [...new Set(capabilities)],
    principal,
    claims: parsed.claims,
    expiresAt,
    file,
    json: given.has('json'),
  };
}

function revokeKeyCommand(given: Given): Command {
  const keyId = given.value('key-id') ?? '';
  // The message does not repeat the text: it may be the secret itself, put there by mistake.
  if (keyFormOf(keyId).kind === 'created') {
    return wrong('--key-id is a whole key; it takes what stands between svc_ and the second _');
  }
  if (!isKeyId(keyId)) return wrong('--key-id is not accepted; accepted: 1 to 32 letters and digits');
  return { command: 'revoke-key', keyId, envFile: given.value('env-file'), json: given.has('json') };
}

function wrong(message: string): Command {
  return { command: 'wrong-usage', message };
}
