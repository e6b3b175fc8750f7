import { expect, test } from 'vitest';
import { readTraces, type TracesSource } from './read-traces.ts';

const read = (env: TracesSource['env'], headersText?: string) =>
  readTraces({
    env,
    headersText,
    serviceName: 'svc-test',
    readFile() {
      throw Object.assign(new Error(), { code: 'ENOENT' });
    },
  });

test('without any variable: a tenth, to a collector on this machine', () => {
  expect(read({ OTEL_EXPORTER_OTLP_HEADERS: '' })).toEqual({
    faults: [],
    config: {
      url: 'http://localhost:4318/v1/traces',
      protocol: 'http/protobuf',
      compression: 'none',
      headers: {},
      tls: {},
      timeoutMs: 10_000,
      sampler: { parentBased: true, ratio: 0.1 },
      resource: { 'service.name': 'svc-test' },
      queue: { maxSpans: 2048, batchSpans: 512, delayMs: 5000 },
    },
  });
});

test.each([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c.test/otlp/' }, 'https://c.test/otlp/v1/traces'],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c.test/otlp?a=b' }, 'https://c.test/otlp/v1/traces?a=b'],
  [
    {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c.test/in',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://other.test',
    },
    'https://c.test/in',
  ],
])('%j is %s', (env, url) => {
  expect(read(env).config).toMatchObject({ url });
});

test.each([
  ['always_on', '0.2', { parentBased: false, ratio: 1 }],
  ['always_off', undefined, { parentBased: false, ratio: 0 }],
  ['traceidratio', '0.25', { parentBased: false, ratio: 0.25 }],
  ['parentbased_traceidratio', undefined, { parentBased: true, ratio: 1 }],
  ['parentbased_always_off', undefined, { parentBased: true, ratio: 0 }],
  [undefined, '0.5', { parentBased: true, ratio: 0.5 }],
])('the sampler %s of %s', (name, share, sampler) => {
  const env = { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share };
  expect(read(env).config).toMatchObject({ sampler });
});

test('headers of the signal go before those for all, and those of the file before both', () => {
  const env = {
    OTEL_EXPORTER_OTLP_HEADERS: 'a=1,B=x%3Dy, c = 3 ',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=2',
  };
  expect(read(env, 'C: of, the=file\r\nd=4,e=%205\n\n').config?.headers).toEqual({
    a: '2',
    b: 'x=y',
    c: 'of, the=file',
    d: '4',
    e: ' 5',
  });
});

test.each([{ OTEL_SDK_DISABLED: 'True' }, { OTEL_TRACES_EXPORTER: 'none' }])('%j is off', (env) => {
  expect(read(env)).toEqual({ config: undefined, faults: [] });
});

test('everything that is wrong is named at once, without what it says', () => {
  const env = {
    OTEL_TRACES_EXPORTER: 'zipkin',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://user:hidden@c.test',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'hidden',
    OTEL_EXPORTER_OTLP_HEADERS: 'a=1,hidden',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=%hidden',
    OTEL_EXPORTER_OTLP_TIMEOUT: '10s',
    OTEL_EXPORTER_OTLP_CERTIFICATE: '/hidden',
    OTEL_TRACES_SAMPLER: 'hidden',
    OTEL_RESOURCE_ATTRIBUTES: 'hidden',
    OTEL_BSP_MAX_QUEUE_SIZE: '0',
  };
  const { config, faults } = read(env, 'hidden');
  expect(config).toBeUndefined();
  expect(new Set(faults.map(({ variable }) => variable))).toEqual(new Set([...Object.keys(env), undefined]));
  expect(JSON.stringify(faults)).not.toContain('hidden');
});

test.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'https://:hidden@c.test'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'Content-Length=3'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'transfer-encoding=chunked'],
])('%s=%s is refused', (variable, value) => {
  const { config, faults } = read({ [variable]: value });
  expect(config).toBeUndefined();
  expect(faults.map((fault) => fault.variable)).toEqual([variable]);
  expect(JSON.stringify(faults)).not.toContain('hidden');
});
