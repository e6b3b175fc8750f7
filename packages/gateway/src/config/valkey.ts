import { isLoopbackHost } from '@svc/protocol';
import type { ValkeyConfig } from './model.ts';
import { bad, good, quoted, type Parsed } from './parse/parsed.ts';
import { readNamedFile, type ReadFile, type ReadSettings } from './read-settings.ts';

interface LoadedValkey {
  /** Undefined if no Valkey is configured. */
  readonly valkey: ValkeyConfig | undefined;
  readonly warnings: readonly string[];
}

type Address = Omit<ValkeyConfig, 'password' | 'prefix'>;

const STANDARD_PORT = 6379;
const DEPENDENT = ['GATEWAY_VALKEY_PASSWORD_FILE', 'GATEWAY_VALKEY_PREFIX'] as const;

/** Reads which Valkey the gateways share limits and revoked keys through. */
export function readValkey({ faults, isSet, read }: ReadSettings, readFile: ReadFile): LoadedValkey {
  const address = read('GATEWAY_VALKEY_URL', parseValkeyUrl);
  const password = read('GATEWAY_VALKEY_PASSWORD_FILE', (path) => readPassword(path, readFile));
  const prefix = read('GATEWAY_VALKEY_PREFIX', parsePrefix) ?? 'svc:';
  if (!isSet('GATEWAY_VALKEY_URL')) {
    for (const setting of DEPENDENT.filter(isSet)) {
      faults.push({ setting, message: 'is set without GATEWAY_VALKEY_URL; set both, or neither' });
    }
  }
  if (address === undefined) return { valkey: undefined, warnings: [] };
  const valkey = { ...address, password, prefix };
  return { valkey, warnings: warningsFor(valkey) };
}

function warningsFor({ host, tls, password }: ValkeyConfig): readonly string[] {
  if (isLoopbackHost(host.includes(':') ? `[${host}]` : host)) return [];
  const warnings: string[] = [];
  if (!tls) {
    warnings.push(
      'GATEWAY_VALKEY_URL is not rediss://, so anyone on the network path can read the password, change limits and ' +
        'hide revocations; use rediss://, or reserve this network for the gateways and Valkey',
    );
  }
  if (password === undefined) {
    warnings.push(
      'GATEWAY_VALKEY_URL is used without a password, so anyone who reaches Valkey can lift limits and refuse keys; ' +
        'give Valkey a password and name its file in GATEWAY_VALKEY_PASSWORD_FILE',
    );
  }
  return warnings;
}

/** Problems do not show the URL: it may carry a password. */
function parseValkeyUrl(text: string): Parsed<Address> {
  const accepted =
    'accepted: rediss://<host>:<port>, or redis:// without TLS, with <user>@ before the host and /<database number> ' +
    'after it if needed';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const [, secure] = /^(?:redis|valkey)(s?):$/.exec(url?.protocol ?? '') ?? [];
  if (url === undefined || secure === undefined || url.hostname === '') {
    return bad(`is not the address of a Valkey server; ${accepted}`);
  }
  if (url.password !== '') {
    return bad(
      'must not carry the password; put it into a file and name that file in GATEWAY_VALKEY_PASSWORD_FILE',
    );
  }
  const [, database] = /^\/?(\d{0,5})$/.exec(url.pathname) ?? [];
  if (database === undefined || url.search !== '' || url.hash !== '') {
    return bad(`must not carry a path other than a database number, a query or a fragment; ${accepted}`);
  }
  const username = decoded(url.username);
  if (username === undefined) return bad(`carries a user name with a faulty % escape; ${accepted}`);
  return good({
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? STANDARD_PORT : Number(url.port),
    tls: secure === 's',
    username: username === '' ? undefined : username,
    database: Number(database),
  });
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function readPassword(path: string, readFile: ReadFile): Parsed<string> {
  const accepted = 'a readable file that holds the password alone';
  const text = readNamedFile(path, readFile, accepted);
  if (!text.ok) return text;
  const password = text.value.replace(/\r?\n$/, '');
  if (password === '' || /[\r\n]/.test(password)) {
    const problem = `names a file that holds ${password === '' ? 'nothing' : 'several lines'}`;
    return bad(`${problem}; accepted: the path of ${accepted}`);
  }
  return good(password);
}

function parsePrefix(text: string): Parsed<string> {
  return /^[A-Za-z0-9:._-]{1,64}$/.test(text)
    ? good(text)
    : bad(`${quoted(text)} is not accepted; accepted: 1 to 64 of letters, digits, and : . _ -`);
}
