import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { readProblem } from '@svc/edge';
import { UNNAMED } from '../capabilities/database-names.ts';
import type { Fault, Position } from '../capabilities/fault.ts';
import { isRecord } from '../capabilities/is-record.ts';
import type { Capability, ServiceInfo } from '../capabilities/model.ts';
import { formatSize } from '../capabilities/size.ts';
import { DEFAULT_DRIVER } from '../databases/drivers.ts';
import { buildCapabilities, buildConfig, buildService, usualDatabase } from './build.ts';
import { UNSEEN_SECTIONS } from './capability-file.ts';
import { checkFile } from './checks/check-file.ts';
import { checkProcesses } from './checks/check-processes.ts';
import { findWarnings } from './checks/find-warnings.ts';
import { databaseNamesOf, driversOf } from './driver-of-file.ts';
import { createFaultLog, type FaultLog } from './fault-log.ts';
import type { AgentConfig } from './model.ts';
import { valueAt, type Path } from './path.ts';
import { readSecrets, type FileSource } from './read-secrets.ts';
import { areOfferSections, isCapabilityFile, lint } from './schema/lint.ts';
import { readYaml } from './yaml/read-yaml.ts';

export interface ConfigSource extends FileSource {
  /** Replaces the link of the file, which need not have one then. */
  readonly link?: LinkOverride | undefined;
  /** Makes what needs processes of its own a fault. */
  readonly withoutProcesses?: boolean | undefined;
}

/** What replaces the settings of the link in the file. */
export interface LinkOverride {
  readonly url: string;
  /** As in the file. */
  readonly privateKey: string;
  /** Whether the link is in memory: nothing of `gateway` counts, nor `metrics`, which are those of the whole process. */
  readonly isLocal?: boolean;
  /** Whether all calls are those of one caller on this machine, which is accepted whatever `identity.api_keys` says. */
  readonly isOfOneCaller?: boolean;
}

/** What a capability file offers to callers, as it is written. Plain data. */
export interface Offer {
  readonly service: ServiceInfo;
  /** The only service whose calls are accepted; absent if the file names none. */
  readonly serviceId?: string;
  readonly capabilities: readonly Capability[];
  /** `identity` as it is written; absent if the file has none. */
  readonly identity?: unknown;
  /** By the names of the databases. */
  readonly drivers: Readonly<Record<string, string>>;
}

interface Faults {
  readonly faults: readonly Fault[];
}

/** Tens of thousands of capabilities; reading that many takes seconds. */
const MAX_FILE_BYTES = 4 * 1024 ** 2;
const REPLACED = ['url', 'agent_private_key', 'agent_private_key_file', 'ca_file', 'proxy', 'proxy_ca_file'];

/**
 * Reads the capability file (docs/reference/capability-file.md): the configuration, or everything
 * that is wrong with it in the order of the file. No fault holds a secret, SQL or the value of a variable.
 */
export function loadConfig(
  source: ConfigSource,
): { readonly config: AgentConfig; readonly warnings: readonly Fault[] } | Faults {
  const { path, link, withoutProcesses = false } = source;
  const faults = createFaultLog();
  const document = readDocument(source, faults);
  if ('faults' in document) return document;
  const root = link === undefined ? document.root : replaceLink(document.root, link);
  lint(root, faults);
  const warnings = checkFile(root, faults);
  const { privateKeySeed, ...secrets } = readSecrets(root, source, faults);

  const found = faults.list().filter((fault) => link === undefined || !isReplaced(fault.path, link));
  if (found.length > 0 || !isCapabilityFile(root) || privateKeySeed === undefined) return { faults: found };
  const positionOf = positionsIn(faults);
  const resolveFile = (name: string): string => resolve(dirname(path), name);
  const issuers = ['identity', 'issuers'];
  const config = buildConfig(root, { ...secrets, privateKeySeed }, { positionOf, resolveFile });
  const unstartable = withoutProcesses ? checkProcesses(config, positionOf) : [];
  if (unstartable.length > 0) return { faults: unstartable };
  return {
    config: link === undefined ? config : withLink(config, link),
    warnings: [
      ...(link === undefined ? [] : ignoredBy(link, config, positionOf)),
      ...warnings.map((message) => ({ path: issuers.join('.'), message, position: positionOf(issuers) })),
      ...findWarnings(root, faults),
    ],
  };
}

/**
 * Reads of a capability file what callers see, without its secrets: an older file, or one of another machine, names
 * variables and files that are not here. Faults elsewhere in it are not reported.
 */
export function loadOffer(source: ConfigSource): { readonly offer: Offer } | Faults {
  const faults = createFaultLog();
  const document = readDocument(source, faults);
  if ('faults' in document) return document;
  const { root } = document;
  lint(root, faults);
  checkFile(root, faults);
  const found = faults.list().filter(({ path }) => !UNSEEN_SECTIONS.has(path.split('.')[0] ?? ''));
  if (found.length > 0 || !areOfferSections(root)) return { faults: found };
  const identity = valueAt(root, ['identity']);
  const usual = usualDatabase(databaseNamesOf(root), root);
  const capabilities = buildCapabilities(root, usual, positionsIn(faults));
  // A capability may name a database that the file lacks, since faults of the databases are not reported here.
  const assumed = capabilities.map(({ database = UNNAMED }) => [database, DEFAULT_DRIVER] as const);
  return {
    offer: {
      service: buildService(root),
      ...(root.service?.id === undefined ? {} : { serviceId: root.service.id }),
      capabilities,
      ...(identity === undefined ? {} : { identity }),
      drivers: { ...Object.fromEntries(assumed), ...driversOf(root) },
    },
  };
}

/** The tree of the file; faults in it are added to `faults` too. */
function readDocument(
  { path, env, readFile }: FileSource,
  faults: FaultLog,
): { readonly root: unknown } | Faults {
  let text: string;
  try {
    const bytes = readFile(path);
    if (bytes.length > MAX_FILE_BYTES)
      return wholeFile(`cannot read the file: it is larger than ${formatSize(MAX_FILE_BYTES)}`);
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    return wholeFile(`cannot read the file: ${readProblem(error)}; ${nameAnother(path)}`);
  }
  const document = readYaml(text, env, faults);
  if (document === undefined) return { faults: faults.list() };
  return document.root === null
    ? wholeFile('the file is empty: it needs `gateway`, `database` and `capabilities`')
    : document;
}

function wholeFile(message: string): Faults {
  return { faults: [{ path: '', message }] };
}

/** What to do if the capability file cannot be read: `svc-agent` does not search for it, but it may be in a usual place. */
export function nameAnother(path: string): string {
  const usual = ['capability.yaml', 'capability/capability.yaml'];
  const there = usual.find((name) => name !== path && existsSync(name));
  return there === undefined
    ? 'name another with --config or AGENT_CAPABILITY_FILE'
    : `there is ${there} in this folder: name it with --config ${there}`;
}

function positionsIn(faults: FaultLog): (at: Path) => Position {
  return (at) => faults.placeOf(at)?.key ?? { line: 1, column: 1 };
}

/** The tree of a file with another link. `gateway` may be absent; if it is no mapping it stays, since that is a fault. */
function replaceLink(root: unknown, link: LinkOverride): unknown {
  if (!isRecord(root)) return root;
  const gateway = link.isLocal === true ? {} : (root['gateway'] ?? {});
  if (!isRecord(gateway)) return root;
  const kept = Object.fromEntries(Object.entries(gateway).filter(([key]) => !REPLACED.includes(key)));
  return { ...root, gateway: { ...kept, url: link.url, agent_private_key: link.privateKey } };
}

function withLink(
  { metricsListen, identity, ...config }: AgentConfig,
  { isLocal, isOfOneCaller }: LinkOverride,
): AgentConfig {
  return {
    ...config,
    ...(metricsListen === undefined || isLocal === true ? {} : { metricsListen }),
    ...(identity === undefined
      ? {}
      : { identity: isOfOneCaller === true ? { ...identity, acceptsKeys: true } : identity }),
  };
}

/** A warning for each setting that the link makes ineffective. */
function ignoredBy(
  { isLocal, isOfOneCaller }: LinkOverride,
  { metricsListen, identity }: AgentConfig,
  positionOf: (at: Path) => Position,
): readonly Fault[] {
  const warning = (path: Path, message: string): Fault => ({
    path: path.join('.'),
    message,
    position: positionOf(path),
  });
  return [
    ...(isLocal === true && metricsListen !== undefined
      ? [warning(['metrics', 'addr'], 'is ignored: the agent serves no metrics of its own here')]
      : []),
    ...(isOfOneCaller === true && identity?.acceptsKeys === false
      ? [warning(['identity'], 'refuses callers without a token, but the caller of this process is accepted')]
      : []),
  ];
}

/** Whether a fault at this path is about a setting that is replaced. */
function isReplaced(path: string, { isLocal }: LinkOverride): boolean {
  if (isLocal === true) return path === 'gateway' || path.startsWith('gateway.');
  return REPLACED.some((key) => path === `gateway.${key}` || path.startsWith(`gateway.${key}.`));
}
