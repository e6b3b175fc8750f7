import { describe, expect, test } from 'vitest';
import { createReadSettings, type Environment } from './read-settings.ts';
import { readValkey } from './valkey.ts';

const files: Readonly<Record<string, string>> = {
  '/password': 'correct horse\n',
  '/empty': '\n',
  '/two-lines': 'one\ntwo\n',
};

function read(env: Environment) {
  const settings = createReadSettings(env);
  const loaded = readValkey(settings, (path) => {
    const text = files[path];
    if (text === undefined) throw Object.assign(new Error(path), { code: 'ENOENT' });
    return text;
  });
  return { ...loaded, faults: settings.faults.map(({ setting, message }) => `${setting} ${message}`) };
}

const TCP = { host: 'valkey.example.com', port: 6379, tls: false, username: undefined, database: 0 };

describe('GATEWAY_VALKEY_URL', { tags: ['setting:GATEWAY_VALKEY_URL'] }, () => {
  test.each([
    ['redis://valkey.example.com', TCP],
    ['valkey://valkey.example.com/', TCP],
    ['rediss://valkey.example.com:6380/3', { ...TCP, tls: true, port: 6380, database: 3 }],
    ['valkeys://gate%2Fway@[::1]', { ...TCP, tls: true, host: '::1', username: 'gate/way' }],
  ])('reads %s', (url, valkey) => {
    expect(read({ GATEWAY_VALKEY_URL: url })).toMatchObject({
      valkey: { ...valkey, password: undefined, prefix: 'svc:' },
      faults: [],
    });
  });

  test.each([
    ['valkey.example.com:6379', /is not the address/],
    ['http://valkey.example.com', /is not the address/],
    ['redis://', /is not the address/],
    ['redis://:hush@valkey.example.com', /must not carry the password; put it into a file/],
    ['redis://u%zz@valkey.example.com', /faulty % escape/],
    ['redis://valkey.example.com/keys', /must not carry a path/],
    ['redis://valkey.example.com?db=1', /must not carry a path/],
  ])('refuses %s, and does not repeat it', (url, message) => {
    const { valkey, faults } = read({ GATEWAY_VALKEY_URL: url });
    expect(valkey).toBe(undefined);
    expect(faults).toEqual([expect.stringMatching(message)]);
    expect(faults.join()).not.toMatch(/hush|example/);
  });

  test('warns of what travels in the clear, and of a Valkey without a password', () => {
    expect(read({ GATEWAY_VALKEY_URL: 'redis://127.0.0.1' }).warnings).toEqual([]);
    expect(read({ GATEWAY_VALKEY_URL: 'redis://[::1]:1' }).warnings).toEqual([]);
    expect(read({ GATEWAY_VALKEY_URL: 'redis://10.0.0.7' }).warnings).toEqual([
      expect.stringMatching(/is not rediss:/),
      expect.stringMatching(/without a password/),
    ]);
    const safe = { GATEWAY_VALKEY_URL: 'rediss://10.0.0.7', GATEWAY_VALKEY_PASSWORD_FILE: '/password' };
    expect(read(safe).warnings).toEqual([]);
  });
});

test(
  'GATEWAY_VALKEY_PASSWORD_FILE names a file with the password alone',
  { tags: ['setting:GATEWAY_VALKEY_PASSWORD_FILE'] },
  () => {
    const of = (path: string) =>
      read({ GATEWAY_VALKEY_URL: 'redis://localhost', GATEWAY_VALKEY_PASSWORD_FILE: path });
    expect(of('/password').valkey?.password).toBe('correct horse');
    expect(of('/empty').faults).toEqual([expect.stringMatching(/holds nothing/)]);
    expect(of('/two-lines').faults).toEqual([expect.stringMatching(/holds several lines/)]);
    expect(of('/nowhere').faults).toEqual([expect.stringMatching(/cannot be read/)]);
  },
);

test('GATEWAY_VALKEY_PREFIX is plain text', { tags: ['setting:GATEWAY_VALKEY_PREFIX'] }, () => {
  const of = (prefix: string) =>
    read({ GATEWAY_VALKEY_URL: 'redis://localhost', GATEWAY_VALKEY_PREFIX: prefix });
  expect(of('cell-3:').valkey?.prefix).toBe('cell-3:');
  expect(of('*').faults).toEqual([expect.stringMatching(/1 to 64 of letters/)]);
});

test('nothing is read without an address', () => {
  expect(read({})).toEqual({ valkey: undefined, warnings: [], faults: [] });
  expect(read({ GATEWAY_VALKEY_PREFIX: 'a', GATEWAY_VALKEY_PASSWORD_FILE: '/password' }).faults).toEqual([
    expect.stringMatching(/^GATEWAY_VALKEY_PASSWORD_FILE is set without GATEWAY_VALKEY_URL/),
    expect.stringMatching(/^GATEWAY_VALKEY_PREFIX is set without GATEWAY_VALKEY_URL/),
  ]);
});
