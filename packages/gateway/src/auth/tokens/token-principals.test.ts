import { parseIssuers, type Issuer, type VerifiedToken } from '@svc/identity';
import { expect, test } from 'vitest';
import { CallError } from '../../core/call-error.ts';
import { createSharePermissions } from '../permission-sets.ts';
import { keyPrincipal } from '../../core/principal.testing.ts';
import { createTokenPrincipals, type TokenCaller } from './token-principals.ts';

function issuer(name: string, changes: object = {}): Issuer {
  const record = {
    name,
    issuer: `https://${name}.example`,
    grants: [
      { capabilities: ['a', 'b'], scope: 'read' },
      { capabilities: ['c'], claim: 'role', value: 'dba' },
      { capabilities: ['*'], claim: 'role', value: 'admin' },
      { capabilities: ['b', 'a'], claim: 'group', value: 'readers' },
    ],
    ...changes,
  };
  const parsed = parseIssuers([record], { resource: 'https://gateway.example/mcp' });
  const [first] = parsed.ok ? parsed.issuers : [];
  if (first === undefined) throw new Error(JSON.stringify(parsed));
  return first;
}

function verified(from: Issuer, changes: Partial<VerifiedToken> = {}): VerifiedToken {
  return {
    kind: 'verified',
    issuer: from,
    subject: 'ann',
    clientId: '',
    tokenId: '',
    issuedAt: undefined,
    expiresAt: 0,
    claims: {},
    claimsJson: '{}',
    grants: [0],
    ...changes,
  };
}

const tooOld = (): CallError => new CallError('GATEWAY_UNAUTHORIZED', 'too old');
const principals = createTokenPrincipals(createSharePermissions());
const callerOf = (token: VerifiedToken): TokenCaller => principals(token, 'text', tooOld);

test('one subject of two issuers is two principals, and none is that of a key', () => {
  const [first, second] = [callerOf(verified(issuer('one'))), callerOf(verified(issuer('two')))];
  expect(first.principal.id).toBe('token:one:ann');
  expect(second.principal.id).toBe('token:two:ann');
  // Subjects and names of keys may be anything, colons included.
  const posing = callerOf(verified(issuer('one'), { subject: 'key:reports' })).principal.id;
  expect(posing).toBe('token:one:key:reports');
  expect(keyPrincipal('token:one:ann').id).not.toBe(first.principal.id);
});

test.each<[readonly number[], ReadonlySet<string> | '*']>([
  [[], new Set()],
  [[0], new Set(['a', 'b'])],
  [[0, 1], new Set(['a', 'b', 'c'])],
  [[1, 2], '*'],
])('the grants %j permit together what each does', (grants, permissions) => {
  expect(callerOf(verified(issuer('one'), { grants })).principal.permissions).toEqual(permissions);
});

test('equal permissions are one object, whatever grants them', () => {
  const from = issuer('one');
  const [first, second] = [
    callerOf(verified(from)),
    callerOf(verified(from, { grants: [3], subject: 'bob' })),
  ];
  expect(first.principal.permissions).toBe(second.principal.permissions);
});

test('only where no grant matches, and one has a scope, the scope is what is missing', () => {
  const byClaims = issuer('one', { grants: [{ capabilities: ['a'], claim: 'role', value: 'dba' }] });
  expect(callerOf(verified(issuer('one'), { grants: [] })).lacksScope).toBe(true);
  expect(callerOf(verified(issuer('one'), { grants: [1] })).lacksScope).toBe(false);
  expect(callerOf(verified(byClaims, { grants: [] })).lacksScope).toBe(false);
});

test('a subject that logs shall not have is in no id', () => {
  const from = issuer('one', { log_subject: false });
  const { principal, loggedSubject } = callerOf(verified(from));
  // printf %s ann | openssl dgst -sha256 -binary | basenc --base64url | head -c 22
  expect([principal.id, loggedSubject]).toEqual([
    'token:one:SZFeDX1LQC4wF9AQvBwOg8',
    'SZFeDX1LQC4wF9AQvBwOg8',
  ]);
  // The agent's row policies go by the subject itself.
  expect(principal.subject).toBe('ann');
});

test('claims are told only where there are any', () => {
  const from = issuer('one');
  expect(callerOf(verified(from)).principal.claimsJson).toBe('');
  const claims = { org_id: 'north' };
  const { principal } = callerOf(verified(from, { claims, claimsJson: JSON.stringify(claims) }));
  expect([principal.claims, principal.claimsJson]).toEqual([claims, '{"org_id":"north"}']);
});
