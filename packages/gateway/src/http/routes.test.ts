import { expect, test } from 'vitest';
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
