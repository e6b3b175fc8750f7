import { describe, expect, test } from 'vitest';
import {
  audienceMatches,
  isLoopbackHost,
  namesReplicas,
  namesReplicasRightly,
  normalizeAudience,
  urlOfReplica,
} from './audience.ts';

test.each([
  ['wss://Gateway.Example:443/ws/agent', 'wss://gateway.example/ws/agent'],
  ['ws://127.0.0.1:8080/ws/agent/', 'ws://127.0.0.1:8080/ws/agent'],
  ['wss://[2001:DB8::1]/ws/agent', 'wss://[2001:db8::1]/ws/agent'],
])('%s is compared as %s', (given, normal) => {
  expect(normalizeAudience(given)).toBe(normal);
});

test.each([
  'https://gateway.example/ws/agent',
  'wss://u:p@gateway.example/',
  'wss://gateway.example/?a=1',
  'gateway',
])('%s is refused', (given) => {
  expect(() => normalizeAudience(given)).toThrow(TypeError);
});

test('loopback hosts are recognised in every spelling, look-alikes are not', () => {
  expect(
    ['localhost', 'LOCALHOST', '127.0.0.1', '127.9.9.9', '[::1]', '::1'].map(isLoopbackHost),
  ).not.toContain(false);
  expect(
    ['127.0.0.1.example.org', 'localhost.example.org', '10.0.0.1', '::2'].map(isLoopbackHost),
  ).not.toContain(true);
});

describe('a URL that names replicas', () => {
  const url = 'wss://gw-{replica}.example.com/ws/agent';

  test.each([url, 'wss://{replica}.gw.svc:8443/ws/agent', 'wss://gw{replica}/ws/agent'])(
    '%s does so rightly',
    (given) => {
      expect([namesReplicas(given), namesReplicasRightly(given)]).toEqual([true, true]);
    },
  );

  test.each([
    'wss://gw.{replica}.example.com/ws/agent',
    'wss://gw-{replica}-{replica}.example.com/ws/agent',
    'wss://gw.example.com/{replica}/ws/agent',
    'wss://gw.example.com:{replica}/ws/agent',
    'wss://{replica}@gw.example.com/ws/agent',
  ])('%s does not', (given) => {
    expect([namesReplicas(given), namesReplicasRightly(given)]).toEqual([true, false]);
  });

  test('becomes that of one replica, and keeps the place when it is normalised', () => {
    expect(urlOfReplica(url, 12)).toBe('wss://gw-12.example.com/ws/agent');
    expect(urlOfReplica('wss://gw.example.com/ws/agent', 3)).toBe('wss://gw.example.com/ws/agent');
    expect(normalizeAudience('wss://GW-{replica}.example.com:443/ws/agent/')).toBe(url);
  });

  test('matches the numbers 0 to 63 as they are written, and nothing else', () => {
    const matched = Array.from({ length: 200 }, (_, at) => at).filter((at) =>
      audienceMatches(url, urlOfReplica(url, at)),
    );
    expect(matched).toEqual(Array.from({ length: 64 }, (_, at) => at));
    const others = ['', '00', '01', '-1', '1.evil', '1e1', ' 1', '{replica}'];
    expect(others.filter((other) => audienceMatches(url, url.replace('{replica}', other)))).toEqual([]);
    expect(audienceMatches(url, 'wss://gw-1.example.org/ws/agent')).toBe(false);
    expect(audienceMatches('wss://a/ws/agent', 'wss://a/ws/agent')).toBe(true);
  });
});
