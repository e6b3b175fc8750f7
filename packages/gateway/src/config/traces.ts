import { readProblem, readTraces, type TracesConfig } from '@svc/edge';
import { bad, good, quoted, type Parsed } from './parse/parsed.ts';
import type { Environment, ReadSettings } from './read-settings.ts';
import type { ReadFile } from './tls-files.ts';

/** GATEWAY_TRACES and, only once it is set, OpenTelemetry's own variables: clusters put those into every process unasked. */
export function readTracesSettings(
  { faults, isSet, read }: ReadSettings,
  env: Environment,
  readFile: ReadFile,
): TracesConfig | undefined {
  const headersText = read('GATEWAY_TRACES_HEADERS_FILE', (path) => readHeaders(path, readFile));
  const isOn = read('GATEWAY_TRACES', parseTraces);
  if (isOn === undefined) {
    if (isSet('GATEWAY_TRACES_HEADERS_FILE') && !isSet('GATEWAY_TRACES')) {
      const message = 'is set without GATEWAY_TRACES; set both, or GATEWAY_TRACES alone, or neither';
      faults.push({ setting: 'GATEWAY_TRACES_HEADERS_FILE', message });
    }
    return undefined;
  }
  const { config, faults: found } = readTraces({ env, readFile, serviceName: 'svc-gateway', headersText });
  for (const { variable, message } of found) {
    faults.push({ setting: variable ?? 'GATEWAY_TRACES_HEADERS_FILE', message });
  }
  return config;
}

function parseTraces(text: string): Parsed<'otlp'> {
  return text === 'otlp' ? good(text) : bad(`${quoted(text)} is not accepted; accepted: otlp`);
}

function readHeaders(path: string, readFile: ReadFile): Parsed<string> {
  try {
    return good(readFile(path));
  } catch (error) {
    return bad(
      `names a file that cannot be read: ${readProblem(error)}; accepted: the path of a readable file`,
    );
  }
}
