import { describe, expect, test } from 'vitest';
import { exemptHosts, parseProxyUrl, proxiesOfEnvironment, proxyVariables } from './find-proxy.ts';

const proxyTo = (url: string, env: Readonly<Record<string, string>>): string | undefined =>
  proxiesOfEnvironment(env)(new URL(url))?.url.href;

const GATEWAY = 'wss://gateway.example.com/ws/agent';

describe('the proxy on the way to a URL', () => {
  test.each<[string, string, Readonly<Record<string, string>>, string | undefined]>([
    ['none is named', GATEWAY, {}, undefined],
    ['HTTPS_PROXY, for wss', GATEWAY, { HTTPS_PROXY: 'http://a:1' }, 'http://a:1/'],
    ['HTTPS_PROXY, for https', 'https://x.example/', { HTTPS_PROXY: 'http://a:1' }, 'http://a:1/'],
    ['not HTTP_PROXY', GATEWAY, { HTTP_PROXY: 'http://a:1' }, undefined],
    ['HTTP_PROXY, for ws', 'ws://x.example/', { HTTP_PROXY: 'http://a:1' }, 'http://a:1/'],
    ['lower case first', GATEWAY, { HTTPS_PROXY: 'http://a:1', https_proxy: 'http://b:2' }, 'http://b:2/'],
    ['ALL_PROXY at last', GATEWAY, { ALL_PROXY: 'http://a:1' }, 'http://a:1/'],
    [
      'HTTPS_PROXY before all_proxy',
      GATEWAY,
      { all_proxy: 'http://a:1', HTTPS_PROXY: 'http://b:2' },
      'http://b:2/',
    ],
    [
      'an empty value counts as absent',
      GATEWAY,
      { https_proxy: '', HTTPS_PROXY: 'http://a:1' },
      'http://a:1/',
    ],
    ['without a scheme', GATEWAY, { HTTPS_PROXY: 'proxy.example:3128' }, 'http://proxy.example:3128/'],
    ['this machine is near', 'wss://localhost:8443/', { HTTPS_PROXY: 'http://a:1' }, undefined],
    ['its addresses, too', 'wss://127.3.2.1/', { HTTPS_PROXY: 'http://a:1' }, undefined],
    ['and the IPv6 one', 'wss://[::1]/', { HTTPS_PROXY: 'http://a:1' }, undefined],
    ['NO_PROXY', GATEWAY, { HTTPS_PROXY: 'http://a:1', NO_PROXY: 'gateway.example.com' }, undefined],
    ['no_proxy first', GATEWAY, { HTTPS_PROXY: 'http://a:1', no_proxy: 'x', NO_PROXY: '*' }, 'http://a:1/'],
  ])('%s', (_what, url, env, expected) => {
    expect(proxyTo(url, env)).toBe(expected);
  });

  test('one that cannot be used is told with the variable, not with its value', () => {
    expect(() => proxyTo(GATEWAY, { all_proxy: 'socks5://user:s3cret@a:1' })).toThrow(
      /^all_proxy names a proxy of the kind socks5, which is not supported; accepted: (?!.*s3cret)/,
    );
  });

  test('of an environment only what names proxies is kept', () => {
    expect(proxyVariables({ https_proxy: 'a', NO_PROXY: 'b', PATH: '/bin' })).toEqual({
      https_proxy: 'a',
      NO_PROXY: 'b',
    });
  });
});

describe('NO_PROXY', () => {
  test.each([
    ['example.com', 'example.com', true],
    ['example.com', 'gateway.example.com', true],
    ['.example.com', 'gateway.example.com', true],
    ['.example.com', 'example.com', true],
    ['example.com', 'badexample.com', false],
    ['gateway.example.com', 'example.com', false],
    ['Example.COM.', 'GATEWAY.example.com', true],
    ['a.test, example.com', 'example.com', true],
    ['a.test  example.com', 'example.com', true],
    ['*', 'example.com', true],
    ['*', '192.0.2.1', true],
    ['a.test,*', 'example.com', false],
    ['a.test,*', '192.0.2.1', false],
    ['*.example.com', 'gateway.example.com', false],
    ['192.0.2.1', '192.0.2.1', true],
    ['192.0.2.1', '192.0.2.2', false],
    ['192.0.2.0/24', '192.0.2.77', true],
    ['192.0.2.0/24', '192.0.3.77', false],
    ['192.0.2.0/33', '192.0.2.77', false],
    ['2001:db8::/32', '[2001:db8:1::1]', true],
    ['[2001:db8::1]', '[2001:DB8::1]', true],
    ['2.1', '192.0.2.1', false],
    ['', 'example.com', false],
    [',', 'example.com', false],
  ])('%j and %s: %s', (list, host, exempt) => {
    expect(exemptHosts({ NO_PROXY: list })(host)).toBe(exempt);
  });
});

test.each([
  ['http://', 'is not the URL of a proxy'],
  ['::', 'is not the URL of a proxy'],
  ['ftp://proxy', 'of the kind ftp'],
  ['http://user:50%@proxy', 'each % as %25'],
  ['http://user:gr%FCn@proxy', 'percent-encoded in UTF-8'],
  ['http://proxy/path', 'neither a path nor a query'],
])('%s is refused', (text, problem) => {
  expect(parseProxyUrl(text)).toMatchObject({ problem: expect.stringContaining(problem) });
});
