import { expect, test } from 'vitest';
import { targetOf } from './target.ts';

test.each([
  [
    'postgres://u:p%40ss@db:6432/shop',
    {},
    { host: 'db', port: 6432, name: 'shop', user: 'u', password: 'p@ss' },
  ],
  [
    'postgresql://u@[::1]/shop?sslmode=require',
    {},
    { host: '::1', port: 5432, sslmode: 'require', password: '' },
  ],
  ['postgres://u@/shop?host=/run/pg', {}, { host: '/run/pg', name: 'shop' }],
  ['postgres://u@%2Frun%2Fpg/shop', {}, { host: '/run/pg', name: 'shop' }],
  [
    'postgres://db',
    { PGUSER: 'u', PGDATABASE: 'd', PGPASSWORD: 'p' },
    { user: 'u', name: 'd', password: 'p' },
  ],
  ['postgres://u@db/d', { PGSSLMODE: 'allow', PGPORT: '7' }, { sslmode: 'prefer', port: 7 }],
  [undefined, { PGHOST: 'h', PGUSER: 'u' }, { host: 'h', name: 'u', sslmode: 'prefer' }],
])('%s', (url, env, expected) => {
  expect(targetOf(url, env)).toMatchObject({ ok: true, target: { config: expected } });
});

test.each([
  ['nothing at all', undefined, {}],
  ['another kind', 'mysql://u@h/d', {}],
  ['no URL', 'shop', {}],
  ['a broken escape', 'postgres://u:%zz@h/d', {}],
  ['several hosts', 'postgres://u@/d?host=a,b', {}],
  ['an unknown mode', 'postgres://u@h/d?sslmode=maybe', {}],
  ['a port that is none', 'postgres://u@h/d', { PGPORT: 'x' }],
  ['a certificate that is not there', 'postgres://u:secret@h/d?sslrootcert=/nowhere/ca.pem', {}],
])('refuses %s, without a value of the URL', (_, url, env) => {
  const result = targetOf(url, env);
  expect(result).toEqual({ ok: false, problem: expect.not.stringMatching(/secret|%zz|nowhere/) });
});

test('what is written for the agent names no account', () => {
  const result = targetOf('postgres://admin:secret@db/shop?sslmode=verify-full', {});
  expect(result).toMatchObject({
    target: { section: { host: 'db', name: 'shop', sslmode: 'verify-full' }, hasPassword: true },
  });
  expect(JSON.stringify('target' in result && result.target.section)).not.toMatch(/admin|secret/);
});
