import { MAX_INFLIGHT_MAX } from '@svc/protocol';
import { RUNTIME_DEFAULTS } from '../capability-file.ts';
import { checkDatabases } from './check-databases.ts';
import { checkClauses } from './check-clauses.ts';
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
import { parseSize } from '../../capabilities/size.ts';

const HOUR_MS = 60 * 60 * 1000;

/** Checks what the schema cannot express. Takes any tree, and skips values that the schema refuses. Returns warnings. */
export function checkFile(root: unknown, faults: FaultLog): readonly string[] {
  const checkSize = (path: Path, least: number, most: number, range: string): void => {
    const size = valueAt(root, path);
    if (typeof size !== 'string' && typeof size !== 'number') return;
    const bytes = parseSize(size);
    if (!(bytes >= least && bytes <= most)) faults.add(path, `must be ${range}`);
  };
  const checkDuration = (path: Path, leastMs: number, mostMs: number, range: string): void => {
    const text = valueAt(root, path);
    if (typeof text !== 'string') return;
    const ms = parseDuration(text);
    if (ms < leastMs || ms > mostMs) faults.add(path, `must be between ${range}`);
  };
  const checkLimits = (path: Path): void => {
    // The empty array of rows has two bytes.
    checkSize([...path, 'max_bytes'], 2, 64 * 1024 ** 2, '2B to 64MB');
    checkDuration([...path, 'timeout'], 1, 24 * HOUR_MS, '1ms and 24h');
  };
  checkRuntime(root, faults);
  checkDatabases(root, faults);
  checkWorkers(root, faults);
  checkDuration(['runtime', 'reverify'], 1000, 168 * HOUR_MS, '1s and 168h');
  checkGateway(root, faults);
  checkDuration(['gateway', 'resolve_interval'], 1000, HOUR_MS, '1s and 1h');
  checkSize(['logging', 'max_size'], 1024, Number.MAX_SAFE_INTEGER, 'at least 1KB');
  const address = valueAt(root, ['metrics', 'addr']);
  if (typeof address === 'string' && readListenAddress(address) === undefined) {
    const form = '`:<port>` or `<host>:<port>`, with an IPv6 address in brackets';
    faults.add(['metrics', 'addr'], `must be ${form}`);
  }
  checkLimits(['defaults']);
  const warnings = checkIdentity(root, faults);
  for (const name of namesAt(root, ['capabilities'])) {
    const path = ['capabilities', name];
    checkLimits([...path, 'policy']);
    checkEach(root, [...path, 'params'], checkParam, faults);
    for (const param of namesAt(root, [...path, 'params']))
      checkPinned(root, [...path, 'params', param], faults);
    checkEach(root, [...path, 'result'], checkResultField, faults);
    checkExamples(root, path, faults);
    checkPaging(root, path, faults);
    checkClauses(root, path, faults);
  }
  return warnings;
}

/** The agent tells the gateway how many calls it takes. A gateway refuses agents that take more than MAX_INFLIGHT_MAX. */
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

function checkWorkers(root: unknown, faults: FaultLog): void {
  const workers = valueAt(root, ['runtime', 'workers']);
  for (const name of databaseNamesOf(root)) {
    const section = sectionOf(name);
    const { properties } = driverOf(driverNameOf(root, section)).section;
    const usual = properties['max_connections']?.['default'];
    const connections = valueAt(root, [...section, 'max_connections']) ?? usual;
    if (typeof workers !== 'number' || typeof connections !== 'number' || workers <= connections) continue;
    const most = `\`${dottedPath([...section, 'max_connections'])}\` (${connections})`;
    faults.add(['runtime', 'workers'], `must be <= ${most}, because each worker needs a connection`);
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
  const proxy = valueAt(root, ['gateway', 'proxy']);
  const parsed = typeof proxy === 'string' && proxy !== 'none' ? parseProxyUrl(proxy) : undefined;
  if (parsed !== undefined && 'problem' in parsed)
    faults.add(['gateway', 'proxy'], `${parsed.problem}; \`none\` is no proxy`);
  if (valueAt(root, ['gateway', 'proxy_ca_file']) !== undefined && !/^https:/i.test(String(proxy)))
    faults.add(['gateway', 'proxy_ca_file'], 'is for a `proxy` that begins with `https://`: remove it');
  const maxLinks = valueAt(root, ['gateway', 'max_links']);
  if (typeof maxLinks === 'number' && maxLinks < urls.length && !faults.has(['gateway', 'max_links']))
    faults.add(['gateway', 'max_links'], 'must be at least the number of gateways in `url`');
}

type Check = (value: unknown, path: Path, faults: FaultLog) => void;

function checkEach(root: unknown, path: Path, check: Check, faults: FaultLog): void {
  for (const name of namesAt(root, path)) check(valueAt(root, [...path, name]), [...path, name], faults);
}

function namesAt(root: unknown, path: Path): readonly string[] {
  const value = valueAt(root, path);
  return isRecord(value) ? Object.keys(value) : [];
}
