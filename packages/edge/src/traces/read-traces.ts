import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readProblem } from '../text/read-problem.ts';
import { readHeaderFile, readHeaderList, type ReadHeaders } from './read-headers.ts';
import type { SamplerConfig, TracesConfig } from './traces-config.ts';

export interface TracesSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Throws what `fs.readFileSync` throws. */
  readonly readFile: (path: string) => string;
  /** `service.name` where no variable gives another. */
  readonly serviceName: string;
  /** What a file of headers holds; its headers win. */
  readonly headersText?: string | undefined;
}

export interface TracesFault {
  /** Undefined where it is the file of headers. */
  readonly variable: string | undefined;
  /** What is wrong and what is accepted; never a value, which may be a secret. */
  readonly message: string;
}

/** The variables of OpenTelemetry that hold once traces are on. */
export interface ReadTraces {
  /** Undefined where they say that nothing is to be sent, or are at fault. */
  readonly config: TracesConfig | undefined;
  readonly faults: readonly TracesFault[];
}

const PREFIX = 'OTEL_EXPORTER_OTLP';
const DEFAULT_ENDPOINT = 'http://localhost:4318';
const SIGNAL_PATH = 'v1/traces';
const DEFAULT_RATIO = 0.1;
const LARGEST_QUEUE = 1_000_000;
const LONGEST_MS = 600_000;

const SAMPLERS: Readonly<Record<string, { readonly parentBased: boolean; readonly ratio?: number }>> = {
  always_on: { parentBased: false, ratio: 1 },
  always_off: { parentBased: false, ratio: 0 },
  traceidratio: { parentBased: false },
  parentbased_always_on: { parentBased: true, ratio: 1 },
  parentbased_always_off: { parentBased: true, ratio: 0 },
  parentbased_traceidratio: { parentBased: true },
};
const DEFAULT_SAMPLER = 'parentbased_traceidratio';

/** An empty value counts as absent. What the traces of the signal have a variable of their own for goes before what is for all. */
export function readTraces({ env, readFile, serviceName, headersText }: TracesSource): ReadTraces {
  const faults: TracesFault[] = [];
  const add = (variable: string | undefined, message: string): void =>
    void faults.push({ variable, message });
  const valueOf = (variable: string): string | undefined => env[variable]?.trim() || undefined;
  /** The name of the variable that counts, and what it says. */
  function ofSignal(name: string): readonly [variable: string, value: string] | undefined {
    for (const variable of [`${PREFIX}_TRACES_${name}`, `${PREFIX}_${name}`]) {
      const value = valueOf(variable);
      if (value !== undefined) return [variable, value];
    }
    return undefined;
  }
  function oneOf<T extends string>(name: string, accepted: readonly T[], standard: T): T {
    const [variable, value] = ofSignal(name) ?? [];
    if (variable === undefined) return standard;
    const known = accepted.find((candidate) => candidate === value);
    if (known === undefined) add(variable, `is not accepted; accepted: ${accepted.join(', ')}`);
    return known ?? standard;
  }
  function whole(variable: string, value: string | undefined, standard: number, most: number): number {
    if (value === undefined) return standard;
    const number = /^[0-9]{1,9}$/.test(value) ? Number(value) : 0;
    if (number >= 1 && number <= most) return number;
    add(variable, `is not accepted; accepted: a whole number from 1 to ${most}`);
    return standard;
  }
  function headers(variable: string | undefined, read: ReadHeaders): TracesConfig['headers'] {
    if ('headers' in read) return read.headers;
    add(
      variable,
      `is not accepted: ${read.problem}; accepted: name=value, several with commas between, values percent-encoded`,
    );
    return {};
  }
  function headersOf(variable: string): TracesConfig['headers'] {
    return headers(variable, readHeaderList(valueOf(variable) ?? ''));
  }
  function file(name: string, isGood: (text: string) => unknown): string | undefined {
    const [variable, path] = ofSignal(name) ?? [];
    if (variable === undefined || path === undefined) return undefined;
    let text: string;
    try {
      text = readFile(path);
    } catch (error) {
      add(
        variable,
        `names a file that cannot be read: ${readProblem(error)}; accepted: the path of a PEM file`,
      );
      return undefined;
    }
    try {
      isGood(text);
      return text;
    } catch {
      add(
        variable,
        'names a file that does not hold it; accepted: the path of a PEM file, without a passphrase',
      );
      return undefined;
    }
  }
  function endpoint(): string {
    const [variable, value] = ofSignal('ENDPOINT') ?? [`${PREFIX}_ENDPOINT`, DEFAULT_ENDPOINT];
    const url = URL.canParse(value) ? new URL(value) : undefined;
    const isWeb = url !== undefined && /^https?:$/.test(url.protocol) && url.hash === '';
    if (!isWeb || url.username !== '' || url.password !== '') {
      add(variable, 'is not accepted; accepted: an http:// or https:// URL without credentials and fragment');
      return DEFAULT_ENDPOINT;
    }
    if (variable === `${PREFIX}_ENDPOINT`) url.pathname = `${url.pathname.replace(/\/$/, '')}/${SIGNAL_PATH}`;
    return url.href;
  }
  function sampler(): SamplerConfig {
    const { parentBased, ratio } = SAMPLERS[valueOf('OTEL_TRACES_SAMPLER') ?? DEFAULT_SAMPLER] ?? {};
    if (parentBased === undefined) {
      add('OTEL_TRACES_SAMPLER', `is not accepted; accepted: ${Object.keys(SAMPLERS).join(', ')}`);
      return { parentBased: true, ratio: 0 };
    }
    if (ratio !== undefined) return { parentBased, ratio };
    const share = valueOf('OTEL_TRACES_SAMPLER_ARG');
    // With a sampler of its own and no share, the default of OpenTelemetry is all.
    if (share === undefined) {
      return { parentBased, ratio: valueOf('OTEL_TRACES_SAMPLER') === undefined ? DEFAULT_RATIO : 1 };
    }
    const number = /^[0-9.]+$/.test(share) ? Number(share) : Number.NaN;
    if (number >= 0 && number <= 1) return { parentBased, ratio: number };
    add('OTEL_TRACES_SAMPLER_ARG', 'is not accepted; accepted: a number from 0 to 1, such as 0.1');
    return { parentBased, ratio: 0 };
  }
  function resource(): TracesConfig['resource'] {
    const attributes: Record<string, string> = { 'service.name': serviceName };
    for (const pair of valueOf('OTEL_RESOURCE_ATTRIBUTES')?.split(',') ?? []) {
      const [, key, value = ''] = /^\s*([^=\s]+)\s*=(.*)$/.exec(pair) ?? [];
      const decoded = decode(value.trim());
      if (pair.trim() === '') continue;
      if (key === undefined || decoded === undefined) {
        add(
          'OTEL_RESOURCE_ATTRIBUTES',
          'is not accepted; accepted: name=value, several with commas between, values percent-encoded',
        );
        break;
      }
      attributes[key] = decoded;
    }
    const name = valueOf('OTEL_SERVICE_NAME');
    return name === undefined ? attributes : { ...attributes, 'service.name': name };
  }

  const exporter = valueOf('OTEL_TRACES_EXPORTER') ?? 'otlp';
  if (valueOf('OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || exporter === 'none') {
    return { config: undefined, faults };
  }
  if (exporter !== 'otlp') add('OTEL_TRACES_EXPORTER', 'is not accepted; accepted: otlp, none');
  const ca = file('CERTIFICATE', (text) => new X509Certificate(text));
  const cert = file('CLIENT_CERTIFICATE', (text) => new X509Certificate(text));
  const key = file('CLIENT_KEY', (text) => createPrivateKey(text));
  const maxSpans = whole('OTEL_BSP_MAX_QUEUE_SIZE', valueOf('OTEL_BSP_MAX_QUEUE_SIZE'), 2048, LARGEST_QUEUE);
  const batch = valueOf('OTEL_BSP_MAX_EXPORT_BATCH_SIZE');
  const delay = valueOf('OTEL_BSP_SCHEDULE_DELAY');
  const [timeoutVariable, timeout] = ofSignal('TIMEOUT') ?? [`${PREFIX}_TIMEOUT`, undefined];
  const config: TracesConfig = {
    url: endpoint(),
    protocol: oneOf('PROTOCOL', ['http/protobuf', 'http/json'], 'http/protobuf'),
    compression: oneOf('COMPRESSION', ['gzip', 'none'], 'none'),
    headers: {
      ...headersOf(`${PREFIX}_HEADERS`),
      ...headersOf(`${PREFIX}_TRACES_HEADERS`),
      ...headers(undefined, readHeaderFile(headersText ?? '')),
    },
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    },
    timeoutMs: whole(timeoutVariable, timeout, 10_000, LONGEST_MS),
    sampler: sampler(),
    resource: resource(),
    queue: {
      maxSpans,
      batchSpans: Math.min(maxSpans, whole('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', batch, 512, LARGEST_QUEUE)),
      delayMs: whole('OTEL_BSP_SCHEDULE_DELAY', delay, 5000, LONGEST_MS),
    },
  };
  return { config: faults.length > 0 ? undefined : config, faults };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
