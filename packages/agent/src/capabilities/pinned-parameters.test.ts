import { expect, test } from 'vitest';
import type { Caller } from './caller.ts';
import type { ParamSchema } from './model.ts';
import { compilePinned } from './pinned-parameters.ts';

const UUID = '6f1c2a5e-8a53-4a3e-9f4e-0d6b8a1f2c33';
const MARKER = 'zq7marker';

const CALLER: Caller = {
  principal: 'token:a:anna',
  keyName: 'reports',
  issuer: 'https://a.example',
  subject: 'anna',
  clientId: 'app',
  claims: {
    text: MARKER,
    number: 5,
    rounded: 9_007_199_254_740_992,
    flag: false,
    list: ['x', 'y'],
    uuid: UUID,
    day: '2024-02-29',
  },
  claimsJson: '{}',
  verifiedBy: 'token',
};

/** The value that the parameter gets, or why it gets none. */
function pin(schema: ParamSchema, from: string, caller: Caller = CALLER): unknown {
  const values: Record<string, unknown> = { sent: 1 };
  const position = { line: 1, column: 1 };
  const problem = compilePinned([{ name: 'p', required: true, from, schema, position }])?.(caller, values);
  expect(values['sent']).toBe(1);
  if (problem !== undefined) expect(values).not.toHaveProperty('p');
  return problem ?? values['p'];
}

test('a capability that takes nothing from who calls has nothing to do', () => {
  const param = {
    name: 'p',
    required: true,
    schema: { type: 'string' },
    position: { line: 1, column: 1 },
  } as const;
  expect(compilePinned([])).toBeUndefined();
  expect(compilePinned([param])).toBeUndefined();
});

test.each<[ParamSchema, string, unknown]>([
  [{ type: 'string' }, 'principal.subject', 'anna'],
  [{ type: 'string' }, 'principal.issuer', 'https://a.example'],
  [{ type: 'string' }, 'principal.client_id', 'app'],
  [{ type: 'string' }, 'principal.key_name', 'reports'],
  [{ type: 'string', maxLength: 9 }, 'principal.claims.text', MARKER],
  [{ type: 'integer', minimum: 5 }, 'principal.claims.number', 5],
  [{ type: 'number' }, 'principal.claims.number', 5],
  [{ type: 'boolean' }, 'principal.claims.flag', false],
  [{ type: 'array', items: { type: 'string' } }, 'principal.claims.list', ['x', 'y']],
  [{ type: 'uuid' }, 'principal.claims.uuid', UUID],
  [{ type: 'date' }, 'principal.claims.day', '2024-02-29'],
])('a parameter of %j takes %s as it is', (schema, from, value) => {
  expect(pin(schema, from)).toEqual(value);
});

test.each(['other', 'constructor', 'toString'])(
  'a claim %s that is not there is not found elsewhere',
  (name) => {
    expect(pin({ type: 'string' }, `principal.claims.${name}`)).toBe(
      `p: principal.claims.${name} is not there`,
    );
  },
);

test.each<[ParamSchema, string]>([
  [{ type: 'integer' }, 'principal.claims.text'],
  [{ type: 'string' }, 'principal.claims.number'],
  [{ type: 'string' }, 'principal.claims.flag'],
  [{ type: 'string' }, 'principal.claims.list'],
  [{ type: 'uuid' }, 'principal.claims.text'],
  [{ type: 'integer' }, 'principal.claims.rounded'],
  [{ type: 'array', items: { type: 'string' } }, 'principal.claims.text'],
  [{ type: 'array', items: { type: 'uuid' } }, 'principal.claims.list'],
  [{ type: 'string', maxLength: 8 }, 'principal.claims.text'],
  [{ type: 'string', enum: ['a'] }, 'principal.claims.text'],
  [{ type: 'integer', minimum: 6 }, 'principal.claims.number'],
])('a parameter of %j refuses what %s is, and says so without the value', (schema, from) => {
  const problem = pin(schema, from);
  expect(problem).toMatch(new RegExp(`^p: ${from} does not fit`));
  expect(problem).not.toContain(MARKER);
});

test.each(['subject', 'issuer', 'client_id', 'key_name'])('an empty %s is as good as none', (name) => {
  const nobody = { ...CALLER, subject: '', issuer: '', clientId: '', keyName: '' };
  expect(pin({ type: 'string' }, `principal.${name}`, nobody)).toBe(`p: principal.${name} is not there`);
});
