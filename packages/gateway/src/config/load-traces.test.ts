import { expect, test } from 'vitest';
import { createReadSettings, type Environment } from './read-settings.ts';
import { readTracesSettings } from './load.ts';

function read(env: Environment) {
  const settings = createReadSettings(env);
  const traces = readTracesSettings(settings, env, (path) => {
    if (path !== '/headers') throw Object.assign(new Error(path), { code: 'ENOENT' });
    return env['headers'] ?? 'Authorization: Bearer hidden';
  });
  return { traces, faults: settings.faults.map(({ setting, message }) => `${setting} ${message}`) };
}

test('variables of OpenTelemetry count once traces are on', { tags: ['setting:GATEWAY_TRACES'] }, () => {
  const otel = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
  expect(read(otel)).toEqual({ traces: undefined, faults: [] });
  expect(read({ ...otel, GATEWAY_TRACES: 'otlp' })).toEqual({
    traces: undefined,
    faults: ['OTEL_EXPORTER_OTLP_PROTOCOL is not accepted; accepted: http/protobuf, http/json'],
  });
  expect(read({ ...otel, GATEWAY_TRACES: 'on' }).faults).toEqual([
    expect.stringMatching(/^GATEWAY_TRACES .*accepted: otlp$/),
  ]);
  expect(read({ GATEWAY_TRACES: 'otlp' })).toMatchObject({
    traces: { resource: { 'service.name': 'svc-gateway' }, sampler: { parentBased: true, ratio: 0.1 } },
    faults: [],
  });
});

test('headers from a file', { tags: ['setting:GATEWAY_TRACES_HEADERS_FILE'] }, () => {
  const file = { GATEWAY_TRACES_HEADERS_FILE: '/headers' };
  const on = { GATEWAY_TRACES: 'otlp' };
  expect(read({ ...on, ...file }).traces?.headers).toEqual({ authorization: 'Bearer hidden' });
  for (const env of [
    file,
    { ...on, GATEWAY_TRACES_HEADERS_FILE: '/nowhere' },
    { ...on, ...file, headers: 'no header' },
  ]) {
    const { traces, faults } = read(env);
    expect(traces?.headers ?? {}).toEqual({});
    expect(faults).toEqual([expect.stringMatching(/^GATEWAY_TRACES_HEADERS_FILE (?!.*no header)/)]);
  }
});
