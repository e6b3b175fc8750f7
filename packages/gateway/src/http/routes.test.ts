import { describe, expect, test } from 'vitest';
import { createFindRoute } from './routes.ts';

const findRoute = createFindRoute();

test.each([
  ['/healthz', 'health'],
  ['/healthz?verbose', 'health'],
  ['/readyz', 'ready'],
  ['/openapi.json', 'openapi'],
  ['/ws/agent', 'agent'],
])('%s leads to %s', (target, kind) => {
  expect(findRoute(target)?.kind).toBe(kind);
});

describe('with a path in the public URL', () => {
  const find = createFindRoute({
    find: () => undefined,
    ofServices: true,
    takesAgents: true,
    basePath: '/api',
  });

  test.each([
    ['/healthz', 'health', '/healthz'],
    ['/api/healthz', 'health', '/healthz'],
    ['/api/ws/agent', 'agent', '/ws/agent'],
    ['/api/mcp/?x', 'mcp', '/mcp'],
    ['/api/v1/capabilities/a', 'call', '/api/v1/capabilities/{name}'],
    ['/api/api/v1/capabilities/a', 'call', '/api/v1/capabilities/{name}'],
    ['/api/s/north/openapi.json', 'openapi', '/s/{service}/openapi.json'],
  ])('%s leads to %s', (target, kind, template) => {
    expect(find(target)).toMatchObject({ kind, template });
  });

  test.each(['/api', '/api/', '/apihealthz', '/api/api/healthz', '/v1/capabilities/a', '/API/healthz'])(
    '%s leads nowhere',
    (target) => {
      expect(find(target)).toBeUndefined();
    },
  );
});

test('a capability’s path gives its name and is logged without it', () => {
  expect(findRoute('/api/v1/capabilities/get_user?x=/')).toEqual({
    kind: 'call',
    template: '/api/v1/capabilities/{name}',
    methods: ['POST'],
    service: 'default',
    capability: 'get_user',
  });
});

test('a name is taken as it stands: no escape makes two names one', () => {
  expect(findRoute('/api/v1/capabilities/get%5Fuser')).toMatchObject({ capability: 'get%5Fuser' });
});

test.each([
  '/',
  '',
  '/health',
  '/healthz/',
  '/HEALTHZ',
  '//healthz',
  '/api/v1/capabilities',
  '/api/v1/capabilities/',
  '/api/v1/capabilities/a/b',
  '/api/v1/capabilities/../../../healthz',
  '/api/v2/capabilities/a',
])('%j leads nowhere', (target) => {
  expect(findRoute(target)).toBeUndefined();
});
