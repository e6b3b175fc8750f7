import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createBrowserCheck, type BrowserRules } from './check-browser.ts';

const RULES: BrowserRules = {
  listenHost: undefined,
  publicUrl: 'https://gateway.example/api',
  certificate: undefined,
  behindTlsProxy: false,
  isLoopbackHost: (host) => ['localhost', '127.0.0.1', '[::1]'].includes(host),
  advice: 'use another',
};

function refused(headers: Readonly<Record<string, string>>, rules: Partial<BrowserRules> = {}): boolean {
  const request = new IncomingMessage(new Socket());
  for (const [name, value] of Object.entries(headers)) {
    request.headers[name] = value;
    request.headersDistinct[name] = [value];
  }
  return createBrowserCheck({ ...RULES, ...rules })(request, false) !== undefined;
}

describe('by Host', () => {
  test.each<[string, Partial<BrowserRules>]>([
    ['10.0.0.1:9091', {}],
    ['[2001:db8::1]:9091', {}],
    ['localhost', {}],
    ['console.localhost:1', {}],
    ['gateway.example', {}],
    ['Gateway.Example:9091', {}],
    ['ops.internal:9091', { listenHost: 'Ops.internal' }],
  ])('%s is taken', (host, rules) => expect(refused({ host }, rules)).toBe(false));

  test.each<[string, Partial<BrowserRules>]>([
    ['evil.example', {}],
    ['gateway.example.evil.example', {}],
    ['127.0.0.1.evil.example', {}],
    ['evil.example', { behindTlsProxy: true }],
    ['10.0.0.1:9091', { listenHost: '127.0.0.1' }],
    ['', {}],
    ['localhost@evil.example', {}],
  ])('%s is refused', (host, rules) => expect(refused({ host }, rules)).toBe(true));

  test('a request without one is refused', () => expect(refused({})).toBe(true));
});

test('behind a proxy that names another host, the browser says whose page it is', () => {
  const headers = { host: '10.0.0.1:9091', origin: 'https://console.example' };
  const behind = { behindTlsProxy: true };
  expect(refused({ ...headers, 'sec-fetch-site': 'same-origin' }, behind)).toBe(false);
  expect(refused({ ...headers, 'sec-fetch-site': 'same-origin' })).toBe(true);
  expect(refused({ ...headers, 'sec-fetch-site': 'cross-site' }, behind)).toBe(true);
  expect(refused(headers, behind)).toBe(true);
});
