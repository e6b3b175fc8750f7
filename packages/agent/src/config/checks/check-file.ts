import { MAX_INFLIGHT_MAX } from '@svc/protocol';
import { RUNTIME_DEFAULTS } from '../capability-file.ts';
import { checkDatabases } from './check-databases.ts';
import { checkIdentity, checkPinned } from './check-identity.ts';
import { checkExamples } from './check-examples.ts';

import { checkPaging, checkParam, checkResultField } from './check-params.ts';
import { parseDuration, parseProxyUrl, readListenAddress } from '@svc/edge';
import type { FaultLog } from '../fault-log.ts';
import { driverOf } from '../../databases/drivers.ts';
import { sectionOf } from '../../capabilities/database-names.ts';
import { databaseNamesOf, driverNameOf } from '../driver-of-file.ts';
import { gatewayUrlProblem } from '../gateway-url.ts';
import { isRecord } from '../../capabilities/is-record.ts';
import { dottedPath, valueAt, type Path } from '../path.ts';
import { formatSize, parseSize } from '../../capabilities/size.ts';

const LONGEST_RESOLVE_INTERVAL_MS = 60 * 60 * 1000;
const LONGEST_REVERIFY_MS = 168 * 60 * 60 * 1000;
const LONGEST_TIMEOUT_MS = 24 * 60 * 60 * 1000;
/** The empty array of rows. */
const LEAST_RESULT_BYTES = 2;
const GREATEST_RESULT_BYTES = 64 * 1024 ** 2;
const LEAST_LOG_BYTES = 1024;

/** Checks what the schema cannot express. Takes any tree, and skips values that the schema refuses. Returns warnings. */
export function checkFile(root: unknown, faults: FaultLog): readonly string[] {
  checkRuntime(root, faults);
  checkDatabases(root, faults);
  checkWorkers(root, faults);
  checkReverify(root, faults);
  checkGateway(root, faults);
  checkSize(root, ['logging', 'max_size'], LEAST_LOG_BYTES, Number.MAX_SAFE_INTEGER, faults);
  checkMetricsAddress(root, faults);
  checkLimits(root, ['defaults'], faults);
  const warnings = checkIdentity(root, faults);
  for (const name of namesAt(root, ['capabilities'])) {
    const path = ['capabilities', name];
    checkLimits(root, [...path, 'policy'], faults);
    checkEach(root, [...path, 'params'], checkParam, faults);
    for (const param of namesAt(root, [...path, 'params'])) {
      checkPinned(root, [...path, 'params', param], faults);
    }
    checkEach(root, [...path, 'result'], checkResultField, faults);
    checkExamples(root, path, faults);
    checkPaging(root, path, faults);
  }
  return warnings;
}

/** The agent tells the gateway how many calls it takes, and one that takes more than that cannot connect. */
function checkRuntime(root: unknown, faults: FaultLog): void {
  const { max_concurrent_requests: usual, queue_size: usualQueue } = RUNTIME_DEFAULTS;
  const atOnce = valueAt(root, ['runtime', 'max_concurrent_requests']) ?? usual;
  const queue = valueAt(root, ['runtime', 'queue_size']) ?? usualQueue;
  if (typeof atOnce !== 'number' || typeof queue !== 'number') return;
  if (atOnce + queue <= MAX_INFLIGHT_MAX || faults.has(['runtime', 'max_concurrent_requests'])) return;
  faults.add(
    ['runtime', 'queue_size'],
    `\`queue_size\` and \`max_concurrent_requests\` (default ${usual}) must be <= ${MAX_INFLIGHT_MAX} together`,
  );
}

function checkProxy(root: unknown, faults: FaultLog): void {
  const proxy = valueAt(root, ['gateway', 'proxy']);
  if (typeof proxy === 'string' && proxy !== 'none') {
    const parsed = parseProxyUrl(proxy);
    if ('problem' in parsed) faults.add(['gateway', 'proxy'], `${parsed.problem}; \`none\` is no proxy`);
  }
  if (valueAt(root, ['gateway', 'proxy_ca_file']) === undefined || /^https:/i.test(String(proxy))) return;
  faults.add(['gateway', 'proxy_ca_file'], 'is for a `proxy` that begins with `https://`: remove it');
}

function checkWorkers(root: unknown, faults: FaultLog): void {
  const workers = valueAt(root, ['runtime', 'workers']);
  for (const name of databaseNamesOf(root)) {
    const section = sectionOf(name);
    const { properties } = driverOf(driverNameOf(root, section)).section;
    const usual = properties['max_connections']?.['default'];
    const connections = valueAt(root, [...section, 'max_connections']) ?? usual;
    if (typeof workers !== 'number' || typeof connections !== 'number' || workers <= connections) continue;
    const most = `\`${dottedPath([...section, 'max_connections'])}\` (${connections})`;
    faults.add(['runtime', 'workers'], `must be <= ${most}, for each worker needs a connection`);
  }
}

function checkReverify(root: unknown, faults: FaultLog): void {
  const interval = valueAt(root, ['runtime', 'reverify']);
  if (typeof interval !== 'string') return;
  const milliseconds = parseDuration(interval);
  if (milliseconds < 1000 || milliseconds > LONGEST_REVERIFY_MS) {
    faults.add(['runtime', 'reverify'], 'must be between 1s and 168h');
  }
}

function checkGateway(root: unknown, faults: FaultLog): void {
  const url = valueAt(root, ['gateway', 'url']);
  const urls: readonly unknown[] = Array.isArray(url) ? url : [url];
  for (const [index, one] of urls.entries()) {
    const problem = typeof one === 'string' ? gatewayUrlProblem(one) : undefined;
    if (problem !== undefined)
      faults.add(['gateway', 'url', ...(Array.isArray(url) ? [String(index)] : [])], problem);
  }
  checkProxy(root, faults);
  const maxLinks = valueAt(root, ['gateway', 'max_links']);
  if (typeof maxLinks === 'number' && maxLinks < urls.length && !faults.has(['gateway', 'max_links'])) {
    faults.add(['gateway', 'max_links'], 'must be at least the number of gateways in `url`');
  }
  const interval = valueAt(root, ['gateway', 'resolve_interval']);
  if (typeof interval !== 'string') return;
  const milliseconds = parseDuration(interval);
  if (milliseconds < 1000 || milliseconds > LONGEST_RESOLVE_INTERVAL_MS) {
    faults.add(['gateway', 'resolve_interval'], 'must be between 1s and 1h');
  }
}

function checkMetricsAddress(root: unknown, faults: FaultLog): void {
  const address = valueAt(root, ['metrics', 'addr']);
  if (typeof address !== 'string' || readListenAddress(address) !== undefined) return;
  faults.add(['metrics', 'addr'], 'must be `:<port>` or `<host>:<port>`, with an IPv6 address in brackets');
}

function checkLimits(root: unknown, path: Path, faults: FaultLog): void {
  checkSize(root, [...path, 'max_bytes'], LEAST_RESULT_BYTES, GREATEST_RESULT_BYTES, faults);
  const timeout = valueAt(root, [...path, 'timeout']);
  if (typeof timeout !== 'string') return;
  const milliseconds = parseDuration(timeout);
  if (milliseconds < 1 || milliseconds > LONGEST_TIMEOUT_MS) {
    faults.add([...path, 'timeout'], 'must be between 1ms and 24h');
  }
}

function checkSize(root: unknown, path: Path, least: number, most: number, faults: FaultLog): void {
  const size = valueAt(root, path);
  if (typeof size !== 'string' && typeof size !== 'number') return;
  const bytes = parseSize(size);
  if (bytes >= least && bytes <= most) return;
  const range =
    most === Number.MAX_SAFE_INTEGER
      ? `at least ${formatSize(least)}`
      : `${formatSize(least)} to ${formatSize(most)}`;
  faults.add(path, `must be ${range}`);
}

type Check = (value: unknown, path: Path, faults: FaultLog) => void;

function checkEach(root: unknown, path: Path, check: Check, faults: FaultLog): void {
  for (const name of namesAt(root, path)) check(valueAt(root, [...path, name]), [...path, name], faults);
}

function namesAt(root: unknown, path: Path): readonly string[] {
  const value = valueAt(root, path);
  return isRecord(value) ? Object.keys(value) : [];
}
