import { expect, test } from 'vitest';
import { isLoopbackHost, normalizeAudience } from './audience.ts';

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
