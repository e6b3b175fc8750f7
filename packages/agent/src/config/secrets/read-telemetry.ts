import { readTraces, type TracesConfig } from '@svc/edge';
import type { FaultLog } from '../fault-log.ts';
import { valueAt } from '../path.ts';
import type { ReadFile } from './read-secrets.ts';

interface TelemetrySource {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile: ReadFile;
  readonly headersText: string | undefined;
}

/** `telemetry` and, only where it asks for traces, OpenTelemetry's own variables: clusters put those into every process. */
export function readTelemetry(
  root: unknown,
  { env, readFile, headersText }: TelemetrySource,
  faults: FaultLog,
): TracesConfig | undefined {
  const path = ['telemetry', 'traces'];
  const file = ['telemetry', 'headers_file'];
  if (valueAt(root, path) !== 'otlp') {
    if (valueAt(root, file) !== undefined) faults.addForKey(file, 'is of no use without `traces: otlp`');
    return undefined;
  }
  const { config, faults: found } = readTraces({
    env,
    readFile: (name) => new TextDecoder('utf-8', { fatal: true }).decode(readFile(name)),
    serviceName: 'svc-agent',
    headersText,
  });
  const ofFile = found.find(({ variable }) => variable === undefined);
  if (ofFile !== undefined) faults.add(file, ofFile.message);
  const ofVariables = found.filter((fault) => fault !== ofFile);
  if (ofVariables.length > 0) {
    faults.add(path, ofVariables.map(({ variable, message }) => `${variable} ${message}`).join('; '));
  }
  return config;
}
