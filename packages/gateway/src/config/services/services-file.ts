import type { KeyRecord } from '../../auth/api-keys/key-record.ts';
import { isServiceId, SERVICE_ID_ACCEPTED } from '../../core/service-id.ts';
import { parseAgentPublicKey } from './agent-public-key.ts';
import { parseIssuerEntries, type IssuerRecords } from './issuers.ts';
import { isJsonArray, isJsonObject, labelOf, parseJsonText, unknownFields } from '../parse/json.ts';
import { parseKeyEntries } from './key-records.ts';
import { bad, good, type Parsed } from '../parse/parsed.ts';

/** docs/reference/settings.md states both. */
const MAX_SERVICES = 100;
export const MAX_AGENT_KEYS = 100;
const FIELDS: readonly string[] = ['id', 'agent_public_keys', 'api_keys', 'issuers'];
const FORM = '{"services": [{"id", "agent_public_keys", "api_keys", "issuers"}, ...]}';

export interface ServiceEntry {
  readonly id: string;
  readonly agentPublicKeys: readonly Uint8Array[];
  readonly keys: readonly KeyRecord[];
  /** Undefined if the file does not mention issuers. */
  readonly issuers: IssuerRecords | undefined;
}

/** The values, as they were written, that may occur only once in the file and the settings. */
export interface ServiceText {
  readonly id: unknown;
  /** How problems name the service. */
  readonly place: string;
  readonly agentPublicKeys: readonly unknown[];
  readonly keys: readonly unknown[];
}

export interface ServicesFile {
  /** The whole file, or everything that is wrong with it except repeated values. */
  readonly parsed: Parsed<readonly ServiceEntry[]>;
  readonly texts: readonly ServiceText[];
}

/** Reads the text of GATEWAY_SERVICES_FILE. `resourceOf` returns the audience of issuers that name no other. */
export function parseServicesFile(text: string, resourceOf: (service: string) => string): ServicesFile {
  const json = parseJsonText(text, { accepted: FORM, shellHint: undefined });
  if (!json.ok) return { parsed: json, texts: [] };
  if (!isJsonObject(json.value)) return { parsed: bad(`is not a JSON object; accepted: ${FORM}`), texts: [] };
  const { services, ...others } = json.value;
  const problems = unknownFields(others, ['services']);
  if (!isJsonArray(services)) {
    return { parsed: bad(...problems, `services is not a list; accepted: ${FORM}`), texts: [] };
  }
  if (services.length > MAX_SERVICES) {
    const problem = `services has ${services.length} entries; accepted: at most ${MAX_SERVICES}`;
    return { parsed: bad(...problems, problem), texts: [] };
  }
  const entries: ServiceEntry[] = [];
  const texts: ServiceText[] = [];
  const firstOf = new Map<string, number>();
  for (const [index, value] of services.entries()) {
    const place = `service ${index + 1}${labelOf(value, 'id', isServiceId)}`;
    const entry = parseService(value, resourceOf);
    if (entry.ok) entries.push(entry.value);
    else problems.push(...entry.problems.map((problem) => `${place}: ${problem}`));
    if (!isJsonObject(value)) continue;
    const { id, agent_public_keys: agentKeys, api_keys: keys } = value;
    texts.push({ id, place, agentPublicKeys: listOf(agentKeys), keys: listOf(keys) });
    if (typeof id !== 'string') continue;
    const earlier = firstOf.get(id);
    if (earlier === undefined) firstOf.set(id, index + 1);
    else problems.push(`${place}: its id is already that of service ${earlier}; accepted: each id once`);
  }
  return { parsed: problems.length > 0 ? bad(...problems) : good(entries), texts };
}

function parseService(value: unknown, resourceOf: (service: string) => string): Parsed<ServiceEntry> {
  if (!isJsonObject(value)) return bad('is not an object; accepted: {"id", "agent_public_keys", "api_keys"}');
  const { id, agent_public_keys: agentKeys = [], api_keys: keyRecords = [], issuers: issuerRecords } = value;
  const problems = unknownFields(value, FIELDS);
  const isNamed = typeof id === 'string' && isServiceId(id);
  if (!isNamed) {
    problems.push(`id is ${id === undefined ? 'missing' : 'not accepted'}; accepted: ${SERVICE_ID_ACCEPTED}`);
  }
  const agentPublicKeys = parseAgentKeys(agentKeys);
  const keys = isJsonArray(keyRecords)
    ? parseKeyEntries(keyRecords, 'file')
    : bad('is not a list; accepted: [{"name", "key_hash", "capabilities"}, ...]');
  const issuers = parseIssuerField(issuerRecords, resourceOf(isNamed ? id : ''));
  if (!agentPublicKeys.ok)
    problems.push(...agentPublicKeys.problems.map((problem) => `agent_public_keys ${problem}`));
  if (!keys.ok) problems.push(...keys.problems.map((problem) => `api_keys ${problem}`));
  if (!issuers.ok) problems.push(...issuers.problems.map((problem) => `issuers ${problem}`));
  if (problems.length > 0 || !isNamed || !agentPublicKeys.ok || !keys.ok || !issuers.ok) {
    return bad(...problems);
  }
  return good({ id, agentPublicKeys: agentPublicKeys.value, keys: keys.value, issuers: issuers.value });
}

function parseAgentKeys(value: unknown): Parsed<readonly Uint8Array[]> {
  if (!isJsonArray(value)) return bad('is not a list; accepted: a list of base64url public keys');
  if (value.length > MAX_AGENT_KEYS) {
    return bad(`has ${value.length} keys; accepted: at most ${MAX_AGENT_KEYS}`);
  }
  const keys: Uint8Array[] = [];
  const problems: string[] = [];
  for (const [index, item] of value.entries()) {
    const key = typeof item === 'string' ? parseAgentPublicKey(item) : bad('is not a text');
    if (key.ok) keys.push(key.value);
    else problems.push(...key.problems.map((problem) => `entry ${index + 1}: ${problem}`));
  }
  return problems.length > 0 ? bad(...problems) : good(keys);
}

function parseIssuerField(value: unknown, resource: string): Parsed<IssuerRecords | undefined> {
  if (value === undefined) return good(undefined);
  if (!isJsonArray(value)) return bad('is not a list; accepted: [{"name", "issuer", "grants"}, ...]');
  return parseIssuerEntries(value, resource);
}

function listOf(value: unknown): readonly unknown[] {
  return isJsonArray(value) ? value : [];
}
