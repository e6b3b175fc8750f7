import { parseDuration, readListenAddress } from '@svc/edge';
import { CURSOR_MAX_BYTES } from '@svc/protocol';
import { parseIssuers, type Issuer } from '@svc/identity';
import { sectionOf, UNNAMED } from '../capabilities/database-names.ts';
import type { Example } from '../capabilities/example.ts';
import { CURSOR_PARAM, parseTerms, SORT_PARAM } from '../capabilities/clauses.ts';
import type { Capability, Param, ServiceInfo, SortTerm } from '../capabilities/model.ts';
import type { Position } from '../capabilities/fault.ts';
import {
  type CapabilityFile,
  type CapabilitySpec,
  type ExampleSpec,
  type IdentitySpec,
  type OfferSections,
  GATEWAY_DEFAULTS,
  RUNTIME_DEFAULTS,
} from './capability-file.ts';
import type { DatabaseConfig, DatabaseSection } from '../databases/driver/driver.ts';
import { driverOf } from '../databases/drivers.ts';
import { parseSize } from '../capabilities/size.ts';
import { driverNameOf } from './driver-of-file.ts';
import { gatewayUrls, resourceOf } from './gateway-url.ts';
import type { AgentConfig, IdentityConfig } from './model.ts';
import type { Path } from './path.ts';
import type { FileSecrets } from './read-secrets.ts';

type BuildSecrets = FileSecrets & { readonly privateKeySeed: Uint8Array };
type PositionOf = (path: Path) => Position;

interface Places {
  /** Where a setting stands in the file. */
  readonly positionOf: PositionOf;
  /** The path of a file that the capability file names. */
  readonly resolveFile: (name: string) => string;
}

/** Makes the configuration of a file without faults, with the defaults of docs/reference/capability-file.md. */
export function buildConfig(file: CapabilityFile, secrets: BuildSecrets, places: Places): AgentConfig {
  const { service, runtime, gateway, database, databases, identity, logging, metrics } = file;
  const sections = databases ?? (database === undefined ? {} : { [UNNAMED]: database });
  const { max_concurrent_requests, queue_size, workers, require_all_databases } = {
    ...RUNTIME_DEFAULTS,
    ...runtime,
  };
  const reverify = runtime?.reverify;
  const usual = usualDatabase(Object.keys(sections), file);
  const urls = gatewayUrls(gateway.url);
  const metricsListen = readListenAddress(metrics?.addr ?? '');
  return {
    service: buildService(file),
    ...(service?.id === undefined ? {} : { serviceId: service.id }),
    runtime: {
      maxConcurrentRequests: max_concurrent_requests,
      queueSize: queue_size,
      workers,
      requireAllDatabases: require_all_databases,
      ...(reverify === undefined ? {} : { reverifyMs: parseDuration(reverify) }),
    },
    gateway: {
      urls,
      maxLinks: gateway.max_links ?? GATEWAY_DEFAULTS.max_links,
      resolveIntervalMs: parseDuration(gateway.resolve_interval ?? GATEWAY_DEFAULTS.resolve_interval),
      privateKeySeed: secrets.privateKeySeed,
      ...(secrets.gatewayCa === undefined ? {} : { ca: secrets.gatewayCa }),
      ...(gateway.proxy === undefined ? {} : { proxy: gateway.proxy }),
      ...(secrets.proxyCa === undefined ? {} : { proxyCa: secrets.proxyCa }),
    },
    databases: Object.fromEntries(
      Object.entries(sections).map(([name, section]) => [
        name,
        buildDatabase(file, name, section, secrets, places),
      ]),
    ),
    logging: {
      output: logging?.output ?? 'file',
      maxSizeBytes: parseSize(logging?.max_size ?? '10MB'),
      maxFiles: logging?.max_files ?? 5,
    },
    ...(metricsListen === undefined ? {} : { metricsListen }),
    ...(secrets.traces === undefined ? {} : { traces: secrets.traces }),
    ...(identity === undefined ? {} : { identity: buildIdentity(identity, urls, places) }),
    ...(usual === undefined ? {} : { usualDatabase: usual }),
    capabilities: buildCapabilities(file, usual, places.positionOf),
  };
}

function buildDatabase(
  file: CapabilityFile,
  name: string,
  section: DatabaseSection,
  secrets: BuildSecrets,
  { positionOf, resolveFile }: Places,
): DatabaseConfig {
  const path = sectionOf(name);
  return {
    ...driverOf(driverNameOf(file, path)).configure(section, secrets.databases[name] ?? {}, resolveFile),
    ...(section.require_readonly_account === undefined
      ? {}
      : { requireReadonlyAccountPosition: positionOf([...path, 'require_readonly_account']) }),
  };
}

function buildIdentity(
  spec: IdentitySpec,
  urls: readonly string[],
  { positionOf, resolveFile }: Places,
): IdentityConfig {
  const { trust, api_keys: apiKeys = trust === 'token' ? 'refuse' : 'accept', max_age: maxAge } = spec;
  const parsed = parseIssuers(spec.issuers ?? [], { resource: resourceOf(urls) });
  if (!parsed.ok) throw new Error('cannot build: the issuers have faults');
  const withFile = (issuer: Issuer): Issuer => {
    const { keySource } = issuer;
    if (keySource.kind !== 'file') return issuer;
    return { ...issuer, keySource: { kind: 'file', path: resolveFile(keySource.path) } };
  };
  return {
    trust,
    acceptsKeys: apiKeys === 'accept',
    ...(maxAge === undefined ? {} : { maxAgeSeconds: parseDuration(maxAge) / 1000 }),
    issuers: parsed.issuers.map(withFile),
    issuerPositions: parsed.issuers.map((_, index) => positionOf(['identity', 'issuers', String(index)])),
  };
}

export function buildService({ service }: OfferSections): ServiceInfo {
  return {
    title: service?.title ?? 'Capabilities',
    version: service?.version ?? '0.0.0',
    description: service?.description ?? '',
  };
}

/** The database of capabilities that name none. */
export function usualDatabase(
  names: readonly string[],
  { defaults }: Pick<OfferSections, 'defaults'>,
): string | undefined {
  const only = names.length === 1 && names[0] !== UNNAMED ? names[0] : undefined;
  return defaults?.database ?? only;
}

export function buildCapabilities(
  { capabilities, defaults = {} }: OfferSections,
  usual: string | undefined,
  positionOf: PositionOf,
): readonly Capability[] {
  return Object.entries(capabilities).map(([name, spec]) => {
    const path = ['capabilities', name];
    const limits = { ...defaults, ...spec.policy };
    const database = spec.database ?? usual;
    const examples = spec.examples?.map((example, index) =>
      buildExample(example, positionOf([...path, 'examples', String(index)])),
    );
    return {
      name,
      description: spec.description ?? '',
      sql: spec.sql,
      params: [
        ...Object.entries(spec.params ?? {}).map(
          ([param, { required = false, description, from, filter, ...schema }]) => ({
            name: param,
            required: required || from !== undefined,
            ...(description === undefined ? {} : { description }),
            ...(from === undefined ? {} : { from }),
            ...(filter === undefined
              ? {}
              : { filter: { sql: filter, position: positionOf([...path, 'params', param, 'filter']) } }),
            schema,
            position: positionOf([...path, 'params', param]),
          }),
        ),
        ...paramsMadeBy(spec, path, positionOf),
      ],
      result: Object.entries(spec.result).map(([field, { nullable = true, ...rest }]) => ({
        name: field,
        ...rest,
        nullable,
        position: positionOf([...path, 'result', field]),
      })),
      ...pagingOf(spec, path, positionOf),
      limits: {
        timeoutMs: parseDuration(limits.timeout ?? '30s'),
        maxRows: limits.max_rows ?? 1000,
        maxBytes: parseSize(limits.max_bytes ?? '1MB'),
        onLimit: spec.policy?.on_limit ?? 'truncate',
      },
      allowFunctions: (spec.policy?.allow_functions ?? []).map((entry) => entry.toLowerCase()),
      allowForeignTables: spec.policy?.allow_foreign_tables ?? [],
      exposeInOpenapi: spec.expose_in_openapi ?? true,
      position: positionOf(path),
      sqlPosition: positionOf([...path, 'sql']),
      ...(examples === undefined ? {} : { examples }),
      ...(database === undefined ? {} : { database }),
    };
  });
}

/** For callers they are parameters like any other. */
function paramsMadeBy(spec: CapabilitySpec, path: Path, positionOf: PositionOf): readonly Param[] {
  const { sort, paging } = spec;
  const orders = Object.keys(sort ?? {});
  const made: Param[] = [];
  if (sort !== undefined) {
    made.push({
      name: SORT_PARAM,
      required: false,
      description: 'The order of the rows.',
      madeBy: 'sort',
      schema: { type: 'string', enum: orders, default: orders[0] },
      position: positionOf([...path, 'sort']),
    });
  }
  if (typeof paging === 'string' || Array.isArray(paging)) {
    made.push({
      name: CURSOR_PARAM,
      required: false,
      description:
        'From `next` of an answer that was cut: goes on after its last row, if all else is the same.',
      madeBy: 'paging',
      schema: { type: 'string', maxLength: CURSOR_MAX_BYTES },
      position: positionOf([...path, 'paging']),
    });
  }
  return made;
}

function pagingOf(
  { sort = {}, paging, params = {} }: CapabilitySpec,
  path: Path,
  positionOf: PositionOf,
): Pick<Capability, 'paging' | 'clauses'> {
  const isMapping = typeof paging === 'object' && !isList(paging);
  const unique = paging === undefined || isMapping ? [] : isList(paging) ? paging : [paging];
  const named = Object.entries(sort).map(([name, text]) => {
    const read = parseTerms(text);
    if (!read.ok) throw new Error('cannot build: an order has faults');
    return { name, terms: withUnique(read.terms, unique), position: positionOf([...path, 'sort', name]) };
  });
  const only = { name: '', terms: withUnique([], unique), position: positionOf([...path, 'paging']) };
  const orders = named.length > 0 ? named : unique.length > 0 ? [only] : [];
  const hasFilters = Object.values(params).some(({ filter }) => filter !== undefined);
  return {
    ...(isMapping ? { paging } : {}),
    ...(hasFilters || orders.length > 0 ? { clauses: { orders, unique, hasPages: unique.length > 0 } } : {}),
  };
}

function isList(paging: CapabilitySpec['paging']): paging is readonly string[] {
  return Array.isArray(paging);
}

/** Fields that no two rows share end each order, in its last direction, so that no two rows are equal in it. */
function withUnique(terms: readonly SortTerm[], unique: readonly string[]): readonly SortTerm[] {
  const isDescending = terms.at(-1)?.isDescending ?? false;
  const missing = unique.filter((field) => !terms.some((term) => term.field === field));
  return [...terms, ...missing.map((field) => ({ field, isDescending }))];
}

function buildExample(spec: ExampleSpec, position: Position): Example {
  const { params = {}, as, expect = {}, publish = true } = spec;
  const principal = as === undefined ? spec.principal : { key_name: as };
  return {
    params,
    ...(principal === undefined ? {} : { principal }),
    expect,
    isPublished: publish && expect.error === undefined,
    position,
  };
}
