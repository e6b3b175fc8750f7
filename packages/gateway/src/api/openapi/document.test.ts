import { parseIssuers } from '@svc/identity';
import type { Description } from '@svc/protocol';
import { expect, test } from 'vitest';
import type { Permissions } from '../../core/permission.ts';
import { keyPrincipal } from '../../core/principal.testing.ts';
import { madeNow } from '../../catalog/made-now.testing.ts';
import { createDocuments, type DocumentOptions } from './document.ts';

type Document = { readonly bytes: Buffer; readonly etag: string };
/** As a key with these permissions sees the description. */
function documentsFor(
  options: Partial<DocumentOptions> = {},
): (description: Description, permissions: Permissions) => Document {
  const documentFor = createDocuments({ publicUrl: undefined, issuers: [], ...options });
  return (description, permissions) => madeNow(documentFor(description, keyPrincipal('key', permissions)));
}

const PREFIX = '/api/v1/capabilities/';

function describing(...names: string[]): Description {
  return {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Users', version: '7' },
      paths: Object.fromEntries(names.map((name) => [`${PREFIX}${name}`, { post: { operationId: name } }])),
      components: { schemas: { Error: { type: 'object' } } },
    },
    manifest: names.map((name) => ({ name, exposed: name !== 'hidden', timeout_ms: 1 })),
  };
}

const description = describing('get', 'list', 'hidden');
const parse = (document: { bytes: Buffer }): Record<string, unknown> => JSON.parse(document.bytes.toString());

test('a key sees what it may call, and no key sees what is hidden', () => {
  const documentFor = documentsFor();
  const paths = (permission: Parameters<typeof documentFor>[1]): string[] =>
    Object.keys(parse(documentFor(description, permission))['paths'] ?? {});
  expect(paths('*')).toEqual([`${PREFIX}get`, `${PREFIX}list`]);
  expect(paths(new Set(['list', 'hidden', 'other']))).toEqual([`${PREFIX}list`]);
  expect(paths(new Set())).toEqual([]);
});

test('everything else is the agent’s, and the server is ours', () => {
  expect(
    parse(documentsFor({ publicUrl: 'https://gateway.example' })(description, new Set(['get']))),
  ).toEqual({
    openapi: '3.1.0',
    info: { title: 'Users', version: '7' },
    servers: [{ url: 'https://gateway.example' }],
    paths: { [`${PREFIX}get`]: { post: { operationId: 'get' } } },
    components: { schemas: { Error: { type: 'object' } } },
  });
  expect(parse(documentsFor()(description, '*'))).toMatchObject({ servers: [{ url: '/' }] });
});

test('a key without capabilities gets no components that nothing refers to', () => {
  const bare = describing('get');
  const components = { securitySchemes: { bearer: { type: 'http' } }, schemas: { Error: {} } };
  const document = documentsFor()({ ...bare, openapi: { ...bare.openapi, components } }, new Set());
  expect(parse(document)).toMatchObject({ paths: {} });
  expect(parse(document)['components']).toEqual({ securitySchemes: { bearer: { type: 'http' } } });
});

test('a path of the agent’s that is no capability is not shown', () => {
  const odd = describing('get');
  const { openapi } = odd;
  const paths = { ...openapi.paths, '/admin': {}, [PREFIX]: {} };
  const document = documentsFor()({ ...odd, openapi: { ...openapi, paths } }, '*');
  expect(Object.keys(parse(document)['paths'] ?? {})).toEqual([`${PREFIX}get`]);
});

test('the validator is of the bytes: equal for equal documents, another for another view', () => {
  const documentFor = documentsFor();
  const all = documentFor(description, '*');
  expect(all.etag).toMatch(/^"[A-Za-z0-9_-]{22}"$/);
  expect(documentFor(describing('get', 'list', 'hidden'), '*').etag).toBe(all.etag);
  expect(documentFor(description, new Set(['get'])).etag).not.toBe(all.etag);
  expect(documentFor(describing('get'), '*').etag).not.toBe(all.etag);
});

test('a document is made once for a description and a permission set', () => {
  const documentFor = documentsFor();
  const permission = new Set(['get']);
  expect(documentFor(description, permission)).toBe(documentFor(description, permission));
});

test('where tokens are taken, the document says how to get one, beside what the agent says of keys', () => {
  const components = { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } }, schemas: {} };
  const { openapi, manifest } = describing('get');
  const described = { manifest, openapi: { ...openapi, security: [{ bearer: [] }], components } };
  const issuer = (name: string, changes: object): object => ({
    name,
    issuer: `https://${name}.example/`,
    grants: [{ capabilities: ['get'], scope: 'read' }],
    ...changes,
  });
  const parsed = parseIssuers(
    [
      issuer('found', {}),
      issuer('fixed', { jwks_uri: 'https://fixed.example/jwks' }),
      issuer('secret', { advertise: false }),
    ],
    { resource: 'https://gateway.example/mcp' },
  );
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  for (const permissions of ['*', new Set<string>()] as const) {
    const document = parse(documentsFor({ issuers: parsed.issuers })(described, permissions));
    expect(document['security']).toEqual([{ bearer: [] }, { token_found: [] }, { token_fixed: [] }]);
    expect(document['components']).toMatchObject({
      securitySchemes: {
        bearer: components.securitySchemes.bearer,
        token_found: {
          type: 'openIdConnect',
          openIdConnectUrl: 'https://found.example/.well-known/openid-configuration',
        },
        token_fixed: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
    });
    expect(JSON.stringify(document)).not.toContain('secret');
  }
});

test('with issuers or revocations, the codes of 503 name the one that comes of what is not known of keys', () => {
  const code = { type: 'string', enum: ['GATEWAY_AGENT_OFFLINE', 'AGENT_BUSY'] };
  const error = { type: 'object', properties: { code, message: { type: 'string' } } };
  const Unavailable = { type: 'object', properties: { error }, required: ['error'] };
  const components = { securitySchemes: {}, schemas: { Unavailable, NotFound: { type: 'object' } } };
  const { openapi, manifest } = describing('get');
  const described = { manifest, openapi: { ...openapi, components } };
  const parsed = parseIssuers([{ name: 'idp', issuer: 'https://idp.example', advertise: false }], {
    resource: 'https://gateway.example/mcp',
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const widened = { ...code, enum: [...code.enum, 'GATEWAY_ISSUER_UNAVAILABLE'] };
  for (const options of [{ issuers: parsed.issuers }, { keysMayWait: true }]) {
    expect(parse(documentsFor(options)(described, '*'))['components']).toMatchObject({
      schemas: {
        NotFound: { type: 'object' },
        Unavailable: { required: ['error'], properties: { error: { properties: { code: widened } } } },
      },
    });
  }
  expect(parse(documentsFor({ issuers: [] })(described, '*'))['components']).toEqual(components);
});
