import type { Description } from '@svc/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createDocuments } from '../api/openapi/document.ts';
import { createListTools } from '../api/mcp/tools/list-tools.ts';
import { permits } from '../core/permission.ts';
import { keyPrincipal, tokenPrincipal } from '../core/principal.testing.ts';
import type { Principal } from '../core/principal.ts';
import { madeNow } from './made-now.testing.ts';
import { createViews } from './views.ts';

const PREFIX = '/api/v1/capabilities/';

function describing(needs: Readonly<Record<string, readonly string[]>>): Description {
  const names = Object.keys(needs);
  const operation = { post: { requestBody: { content: { 'application/json': { schema: {} } } } } };
  return {
    openapi: {
      openapi: '3.1.0',
      info: { title: 't', version: '1' },
      paths: Object.fromEntries(names.map((name) => [PREFIX + name, operation])),
    },
    manifest: names.map((name) => {
      const own = needs[name] ?? [];
      return { name, exposed: true, timeout_ms: 1, ...(own.length > 0 && { needs: own }) };
    }),
  };
}

const description = describing({
  free: [],
  tenant: ['principal.claims.org_id'],
  both: ['principal.claims.org_id', 'principal.claims.level'],
  subject: ['principal.issuer', 'principal.subject'],
  client: ['principal.client_id'],
  key: ['principal.key_name'],
});

test.each<[string, Principal, readonly string[]]>([
  ['a key without claims', keyPrincipal('k'), ['free', 'key']],
  ['a key of a tenant', keyPrincipal('k', '*', { org_id: 'n' }), ['free', 'tenant', 'key']],
  ['permissions, too', keyPrincipal('k', new Set(['tenant', 'key']), { org_id: 'n' }), ['tenant', 'key']],
  [
    'a token',
    tokenPrincipal({ claims: { org_id: 'n', level: 0 } }),
    ['free', 'tenant', 'both', 'subject', 'client'],
  ],
  ['a token without client', tokenPrincipal({ clientId: '' }), ['free', 'subject']],
])('tools and paths are those for which enough is known of %s', (_title, principal, shown) => {
  const tools: readonly { readonly name: string }[] = JSON.parse(
    Buffer.from(madeNow(createListTools()(description, principal, undefined)).tools).toString(),
  );
  expect(tools.map(({ name }) => name)).toEqual(shown);
  const document = madeNow(createDocuments({ publicUrl: undefined, issuers: [] })(description, principal));
  expect(Object.keys(JSON.parse(document.bytes.toString()).paths)).toEqual(
    shown.map((name) => PREFIX + name),
  );
});

test('a view is shared by all who see the same, whoever they are', () => {
  const viewOf = createViews((_description, shows) => ({ tenant: shows('tenant') }));
  const permissions = new Set(['tenant']);
  const north = viewOf(description, keyPrincipal('a', permissions, { org_id: 'north' }));
  expect(viewOf(description, keyPrincipal('b', permissions, { org_id: 'south', team: 'x' }))).toBe(north);
  expect(viewOf(description, keyPrincipal('c', permissions))).not.toBe(north);
  expect(viewOf(describing({ tenant: [] }), keyPrincipal('c', permissions))).not.toBe(north);
});

test('as many views are kept as there can be keys, however many permission sets callers bring', () => {
  let made = 0;
  const viewOf = createViews(() => ++made);
  const plain = describing({ a: [] });
  const known = keyPrincipal('known', new Set(['a']));
  viewOf(plain, known);
  for (let at = 0; at < 199; at++) viewOf(plain, keyPrincipal('other', new Set([`x${at}`])));
  expect([viewOf(plain, known), made]).toEqual([1, 200]);
  // Beyond that the views start from the beginning.
  viewOf(plain, keyPrincipal('other', new Set(['y'])));
  expect(viewOf(plain, known)).toBe(202);
});

test('the list, the document and the permission agree on 200 random callers', () => {
  const names = Object.keys(describing({ a: [], b: [], c: [], d: [] }).openapi.paths).map((path) =>
    path.slice(PREFIX.length),
  );
  const claimNames = ['org_id', 'level', 'team'];
  const needs = fc.record(
    Object.fromEntries(
      names.map((name) => [name, fc.subarray(claimNames.map((claim) => `principal.claims.${claim}`))]),
    ),
  );
  const principals = fc
    .tuple(fc.option(fc.subarray(names), { nil: undefined }), fc.subarray(claimNames))
    .map(([own, claims]) =>
      keyPrincipal(
        'k',
        own === undefined ? '*' : new Set(own),
        Object.fromEntries(claims.map((claim) => [claim, 'x'])),
      ),
    );
  const listTools = createListTools();
  const documentFor = createDocuments({ publicUrl: undefined, issuers: [] });
  fc.assert(
    fc.property(needs, principals, (needed, principal) => {
      const described = describing(needed);
      const tools: readonly { readonly name: string }[] = JSON.parse(
        Buffer.from(madeNow(listTools(described, principal, undefined)).tools).toString(),
      );
      const { paths } = JSON.parse(madeNow(documentFor(described, principal)).bytes.toString());
      const expected = names.filter(
        (name) =>
          permits(principal.permissions, name) &&
          (needed[name] ?? []).every((need) => need.slice('principal.claims.'.length) in principal.claims),
      );
      expect(tools.map(({ name }) => name)).toEqual(expected);
      expect(Object.keys(paths)).toEqual(expected.map((name) => PREFIX + name));
    }),
    { numRuns: 200 },
  );
});
