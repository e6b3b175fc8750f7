import { expect, test } from 'vitest';
import { gatewayUrlProblem } from './gateway-url.ts';

test.each([
  'wss://gateway.example.com/ws/agent',
  'wss://gateway.example.com:8443/ws/agent',
  'ws://localhost/ws/agent',
  'ws://localhost:8080/ws/agent',
  'ws://127.0.0.1:8080/ws/agent',
  'ws://127.200.3.4/ws/agent',
  'ws://[::1]:8080/ws/agent',
  'wss://10.0.0.1/ws/agent',
  'wss://gateway.example.com/api/data/ws/agent',
])('%s is accepted', (url) => {
  expect(gatewayUrlProblem(url)).toBeUndefined();
});

test.each([
  ['', 'must be a URL'],
  ['gateway', 'must be a URL'],
  [' wss://gw/ws/agent', 'must be a URL'],
  ['wss:\\\\gw\\ws\\agent', 'must be a URL'],
  ['https://gw/ws/agent', '`wss://`'],
  ['ws://gw.example.com/ws/agent', 'loopback'],
  ['ws://10.0.0.1/ws/agent', 'loopback'],
  ['ws://localhost.example.com/ws/agent', 'loopback'],
  ['ws://127.0.0.1.example.com/ws/agent', 'loopback'],
  ['ws://[::2]/ws/agent', 'loopback'],
  ['ws://127.0.0.1@example.com/ws/agent', 'user name'],
  ['wss://user:pw@gw/ws/agent', 'user name'],
  ['wss://gw/ws/agent?x=1', 'query'],
  ['wss://gw/ws/agent#x', 'query'],
  ['wss://gw', 'path'],
  ['wss://gw/ws/agent/', 'path'],
  ['wss://gw/api/ws/agent/x', 'path'],
  ['wss://gw/awss/agent', 'path'],
])('%j is refused: %s', (url, reason) => {
  expect(gatewayUrlProblem(url)).toContain(reason);
});
