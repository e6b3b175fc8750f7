import { DEFAULT_SERVICE } from '@svc/protocol';
import type { Issuer } from '@svc/identity';
import type { KeyRecord } from '../../auth/api-keys/key-record.ts';
import { resourceOf } from '../../core/service-id.ts';
import type { ServiceConfig, TokenConfig } from '../model.ts';
import { parseAgentPublicKey } from './agent-public-key.ts';
import { parseIssuerRecords, type IssuerRecords } from './issuers.ts';
import { MAX_RECORDS, parseKeyRecords } from './key-records.ts';
import { atLeastOne, bad, good, listItems, parseList, type Parsed } from '../parse/parsed.ts';
import { differingPrincipals } from './shared-principals.ts';
import { parsePublicUrl } from '../parse/urls.ts';
import { readNamedFile, type ReadFile, type ReadSettings } from '../read-settings.ts';
import { readTokenTimes, takesTokens, type TokenTimes } from '../token-settings.ts';
import { repeatsAcross } from './repeats.ts';
import {
  MAX_AGENT_KEYS,
  parseServicesFile,
  type ServiceEntry,
  type ServicesFile,
  type ServiceText,
} from './services-file.ts';
import { issuerWarnings, keyWarnings, type KeysIn } from './service-warnings.ts';

/** Replaces a public URL that is missing or at fault, so that the records are checked nevertheless. */
const SOME_URL = 'https://gateway.invalid';

export interface ReadServices {
  /** The default one first. */
  readonly services: readonly ServiceConfig[];
  readonly issuerWarnings: readonly string[];
  readonly keyWarnings: readonly string[];
}

/** The keys that the settings alone give the default service. */
interface OwnKeys {
  readonly agentPublicKeys: readonly Uint8Array[];
  readonly keys: readonly KeyRecord[];
  readonly keysIn: KeysIn;
}

/** Reads the services of the settings and of the files that they name. */
export function readServices(settings: ReadSettings, readFile: ReadFile): ReadServices {
  const { isSet, read } = settings;
  const publicUrl = settings.peek('GATEWAY_PUBLIC_URL', parsePublicUrl);
  const base = publicUrl ?? SOME_URL;
  const own = readOwnKeys(settings, readFile);

  let texts: readonly ServiceText[] | undefined = [];
  const entries = read('GATEWAY_SERVICES_FILE', (path) => {
    texts = undefined;
    const text = readJsonFile(path, readFile);
    if (!text.ok) return text;
    const file = parseServicesFile(text.value, (service) => resourceOf(base, service));
    if (file.texts.length > 0 || file.parsed.ok) ({ texts } = file);
    const further = [
      ...repeatsAcross([...ownTexts(settings, own), ...file.texts]),
      ...unitedFaults(settings, own, file),
    ];
    const problems = [...(file.parsed.ok ? [] : file.parsed.problems), ...further];
    return problems.length > 0 ? bad(...problems) : file.parsed;
  });
  // If the services of the file cannot be read, the default one may be among them.
  if (texts !== undefined && !texts.some(({ id }) => id === DEFAULT_SERVICE)) requireOwn(settings);

  const issuers = read('GATEWAY_ISSUERS_JSON', (text) =>
    parseIssuerRecords(text, resourceOf(base, DEFAULT_SERVICE)),
  );
  const times = readTokenTimes(settings);
  const united = unite(own, issuers, entries ?? []);
  const issuersOf = (records: IssuerRecords | undefined): readonly Issuer[] => records?.issuers ?? [];
  const inSettings =
    issuersOf(issuers).length > 0 && takesTokens(settings, publicUrl, 'GATEWAY_ISSUERS_JSON');
  if (
    !inSettings &&
    (entries ?? []).some((entry) => issuersOf(entry.issuers).length > 0) &&
    !takesTokens(settings, publicUrl, 'GATEWAY_SERVICES_FILE')
  ) {
    return { services: [], issuerWarnings: [], keyWarnings: [] };
  }
  const services = united.map((entry) => ({
    id: entry.id,
    agentPublicKeys: entry.agentPublicKeys,
    keys: entry.keys,
    tokens: tokensOf(issuersOf(entry.issuers), publicUrl, times),
  }));
  return {
    services,
    issuerWarnings: issuerWarnings(
      united,
      (entry) => entries?.includes(entry) === true || entry.issuers !== issuers,
    ),
    keyWarnings: keyWarnings(united, own.keysIn, isSet('GATEWAY_SERVICES_FILE')),
  };
}

function tokensOf(
  issuers: readonly Issuer[],
  publicUrl: string | undefined,
  times: TokenTimes,
): TokenConfig | undefined {
  return issuers.length === 0 || publicUrl === undefined ? undefined : { issuers, publicUrl, ...times };
}

function readOwnKeys(settings: ReadSettings, readFile: ReadFile): OwnKeys {
  const { faults, isSet, read } = settings;
  const agentPublicKeys = read('GATEWAY_AGENT_PUBLIC_KEY', (text) =>
    atLeastOne(parseList(text, parseAgentPublicKey), 'a base64url public key'),
  );
  const keysIn = isSet('GATEWAY_API_KEYS_FILE') ? 'GATEWAY_API_KEYS_FILE' : 'GATEWAY_API_KEYS_JSON';
  const inSetting = read('GATEWAY_API_KEYS_JSON', (text) => parseKeyRecords(text, 'setting'));
  const inFile = read('GATEWAY_API_KEYS_FILE', (path) => {
    const text = readJsonFile(path, readFile);
    return text.ok ? parseKeyRecords(text.value, 'file') : text;
  });
  if (isSet('GATEWAY_API_KEYS_JSON') && isSet('GATEWAY_API_KEYS_FILE')) {
    const message = 'is set beside GATEWAY_API_KEYS_JSON; accepted: one of the two';
    faults.push({ setting: 'GATEWAY_API_KEYS_FILE', message });
  }
  return { agentPublicKeys: agentPublicKeys ?? [], keys: inSetting ?? inFile ?? [], keysIn };
}

function requireOwn({ faults, isSet }: ReadSettings): void {
  const missing = (setting: 'GATEWAY_AGENT_PUBLIC_KEY' | 'GATEWAY_API_KEYS_JSON', remedy: string): void =>
    void faults.push({ setting, message: `is not set; ${remedy}` });
  if (!isSet('GATEWAY_AGENT_PUBLIC_KEY')) {
    missing('GATEWAY_AGENT_PUBLIC_KEY', 'make a key pair with: svc-gateway create-agent-secret');
  }
  if (!isSet('GATEWAY_API_KEYS_JSON') && !isSet('GATEWAY_API_KEYS_FILE')) {
    const remedy = 'make a record with: svc-gateway create-key --name <name> --capabilities <names>';
    missing('GATEWAY_API_KEYS_JSON', remedy);
  }
}

function readJsonFile(path: string, readFile: ReadFile): Parsed<string> {
  return readNamedFile(path, readFile, 'a readable JSON file');
}

/** The keys of the settings, in the form of the file. */
function ownTexts({ peek }: ReadSettings, { keys, keysIn }: OwnKeys): readonly ServiceText[] {
  // A key that occurs twice in the setting has always been accepted.
  const agentPublicKeys = [...new Set(peek('GATEWAY_AGENT_PUBLIC_KEY', (text) => good(listItems(text))))];
  return [
    { id: DEFAULT_SERVICE, place: 'GATEWAY_AGENT_PUBLIC_KEY', agentPublicKeys, keys: [] },
    {
      id: DEFAULT_SERVICE,
      place: keysIn,
      agentPublicKeys: [],
      keys: keys.map(({ name, keyId }) => ({ name, key_id: keyId })),
    },
  ];
}

/** Problems of a default service that is partly in the settings and partly in the file. */
function unitedFaults({ isSet }: ReadSettings, own: OwnKeys, { parsed }: ServicesFile): readonly string[] {
  const entry = parsed.ok ? parsed.value.find(({ id }) => id === DEFAULT_SERVICE) : undefined;
  if (entry === undefined) return [];
  const { agentPublicKeys, keys, keysIn } = own;
  const many = (count: number, max: number, what: string, setting: string): readonly string[] =>
    count <= max
      ? []
      : [`service "default" has ${count} ${what} with those of ${setting}; accepted: at most ${max}`];
  const places = [
    ...keys.map((record, index) => ({ place: `${keysIn} record ${index + 1}`, record })),
    ...entry.keys.map((record, index) => ({ place: `service "default": record ${index + 1}`, record })),
  ];
  const agentKeys = agentPublicKeys.length + entry.agentPublicKeys.length;
  return [
    ...many(agentKeys, MAX_AGENT_KEYS, 'agent keys', 'GATEWAY_AGENT_PUBLIC_KEY'),
    ...many(places.length, MAX_RECORDS, 'API keys', keysIn),
    ...(keys.length === 0 ? [] : differingPrincipals(places)),
    ...(entry.issuers !== undefined && isSet('GATEWAY_ISSUERS_JSON')
      ? ['service "default" has issuers beside GATEWAY_ISSUERS_JSON; accepted: one of the two']
      : []),
  ];
}

/** All services, the default one first. */
function unite(
  own: OwnKeys,
  issuers: IssuerRecords | undefined,
  entries: readonly ServiceEntry[],
): readonly ServiceEntry[] {
  const inFile = entries.find(({ id }) => id === DEFAULT_SERVICE);
  const ofDefault: ServiceEntry = {
    id: DEFAULT_SERVICE,
    agentPublicKeys: [...own.agentPublicKeys, ...(inFile?.agentPublicKeys ?? [])],
    keys: [...own.keys, ...(inFile?.keys ?? [])],
    issuers: inFile?.issuers ?? issuers,
  };
  return [ofDefault, ...entries.filter((entry) => entry !== inFile)];
}
