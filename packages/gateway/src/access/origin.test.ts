import { expect, test } from 'vitest';
import { createOriginCheck, type OriginRules } from './origin.ts';
import { readRequestHeaders } from '../http/request/headers.ts';

const rules: OriginRules = { listenHost: '0.0.0.0', publicUrl: undefined, corsOrigins: [] };

function refused(options: Partial<OriginRules>, headers: Readonly<Record<string, string>>): boolean {
  const refuse = createOriginCheck({ ...rules, ...options });
  return refuse(readRequestHeaders(Object.entries(headers).flat())) !== undefined;
}

test.each([
  ['127.0.0.1:8080', false],
  ['127.9.9.9', false],
  ['localhost:8080', false],
  ['LOCALHOST', false],
  ['app.localhost:1', false],
  ['[::1]:8080', false],
  ['evil.example', true],
  ['evil.example:8080', true],
  ['localhost.evil.example', true],
  ['127.0.0.1.evil.example', true],
  ['evillocalhost', true],
  ['10.0.0.1:8080', true],
  ['user@localhost', true],
  ['localhost/x', true],
  ['.localhost', true],
  ['a%2elocalhost', true],
  ['localhost.', true],
  ['2130706433', true],
  ['0x7f000001', true],
  ['[::ffff:127.0.0.1]', true],
  ['', true],
])('on a loopback listener the host %s is refused: %s', (host, expected) => {
  for (const listenHost of ['127.0.0.1', 'localhost', '::1'])
    expect(refused({ listenHost }, { host })).toBe(expected);
  expect(refused({ listenHost: undefined }, { host })).toBe(false);
  expect(refused({ listenHost: '10.0.0.1' }, { host })).toBe(false);
});

test('on a loopback listener the host of the public URL is served, as through a proxy on the same machine', () => {
  const behindProxy = { listenHost: '127.0.0.1', publicUrl: 'https://gateway.example/base' };
  expect(refused(behindProxy, { host: 'gateway.example' })).toBe(false);
  expect(refused(behindProxy, { host: 'other.example' })).toBe(true);
});

test.each([
  ['http://127.0.0.1:8080', '127.0.0.1:8080', false],
  ['https://127.0.0.1:8080', '127.0.0.1:8080', false],
  ['http://localhost:8080', 'localhost:8080', false],
  ['http://[2001:db8::1]', '[2001:db8::1]', false],
  ['http://10.0.0.1', '10.0.0.1', false],
  ['http://x@10.0.0.1', '10.0.0.1', true],
  ['http://10.0.0.1/x', '10.0.0.1', true],
  ['blob:http://10.0.0.1/x', '10.0.0.1', true],
  ['http://127.0.0.1:8081', '127.0.0.1:8080', true],
  ['http://10.0.0.2', '10.0.0.1', true],
  // Both could be the attacker's name for this machine.
  ['http://evil.example', 'evil.example', true],
  ['http://evil.example', '127.0.0.1:8080', true],
  ['null', '127.0.0.1:8080', true],
  ['', '127.0.0.1:8080', true],
  ['127.0.0.1:8080', '127.0.0.1:8080', true],
])('a page of %s that calls %s is refused: %s', (origin, host, expected) => {
  expect(refused({}, { origin, host })).toBe(expected);
});

test('a page is allowed by the list, by the public URL, or when all are', () => {
  const origin = 'https://app.example';
  const host = 'gateway.example';
  expect(refused({ corsOrigins: [origin] }, { origin, host })).toBe(false);
  expect(refused({ corsOrigins: ['https://other.example'] }, { origin, host })).toBe(true);
  expect(refused({ publicUrl: 'https://app.example/gateway' }, { origin, host })).toBe(false);
  expect(refused({ corsOrigins: '*' }, { origin, host })).toBe(false);
  expect(refused({ corsOrigins: '*' }, { origin: 'null', host })).toBe(false);
});

test('of two origins none is believed; without one there is no page', () => {
  const refuse = createOriginCheck({ ...rules, corsOrigins: ['https://a.example'] });
  const twice = ['Host', 'h', 'Origin', 'https://a.example', 'Origin', 'https://a.example'];
  expect(refuse(readRequestHeaders(twice))).toBeDefined();
  expect(refuse(readRequestHeaders(['Host', 'h']))).toBeUndefined();
});
