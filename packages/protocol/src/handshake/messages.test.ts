import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ProtocolError } from '../rules/close-code.ts';
import { parseAuth, parseChallenge, parseHello, parseWelcome } from './messages.ts';

type Fields = Readonly<Record<string, unknown>>;

const hello: Fields = {
  type: 'hello',
  instance_id: 'a-1',
  key_id: 'k_1',
  versions: [1],
  agent_nonce: 'n'.repeat(43),
  max_inflight: 64,
  manifest_sha256: '0'.repeat(64),
  audience: 'wss://gateway.example/ws/agent',
};
const challenge: Fields = {
  type: 'challenge',
  conn_id: 'c-1',
  replica_id: 'r-1',
  gateway_nonce: 'n'.repeat(43),
  version: 1,
  limits: { max_params_bytes: 1_048_576 },
};
const auth: Fields = { type: 'auth', signature: 's'.repeat(86) };
const welcome: Fields = { type: 'welcome', replica_count: 1 };

interface Kind {
  readonly name: string;
  readonly parse: (raw: Uint8Array) => unknown;
  readonly message: Fields;
  /** What may be absent, with a value of it. */
  readonly optional: Fields;
  /** For each field, values at its bounds. */
  readonly accepted: Readonly<Record<string, readonly unknown[]>>;
  /** For each field, values just beyond its bounds. */
  readonly refused: Readonly<Record<string, readonly unknown[]>>;
}

const idsAccepted = ['a', 'Z9_-', 'i'.repeat(64)];
const idsRefused = ['', 'i'.repeat(65), 'a b', 'é', 'a\n'];
const nonceRefused = ['n'.repeat(42), 'n'.repeat(44), `${'n'.repeat(42)}=`, `${'n'.repeat(42)}+`];
const countsAccepted = [1, 1_000_000];
const countsRefused = [0, -1, 1.5, 1_000_001];
const featuresRefused = [
  null,
  'fleet',
  [''],
  [1],
  ['f'.repeat(65)],
  Array.from({ length: 17 }, (_, at) => `f${at}`),
];

const kinds: Kind[] = [
  {
    name: 'hello',
    parse: parseHello,
    message: hello,
    optional: { identity: 'token', features: ['fleet'], service: 'orders' },
    accepted: {
      instance_id: idsAccepted,
      key_id: idsAccepted,
      versions: [[1], [2, 1], Array.from({ length: 16 }, (_, at) => at + 1)],
      max_inflight: countsAccepted,
      audience: ['a', 'u'.repeat(1024)],
      identity: ['token', 'gateway'],
      features: [[], ['fleet', 'later'], Array.from({ length: 16 }, (_, at) => `f${at}`)],
      service: ['a', 'orders-2', 's'.repeat(48)],
    },
    refused: {
      type: ['challenge', 'Hello'],
      instance_id: idsRefused,
      key_id: idsRefused,
      versions: [[], [0], ['1'], 1, Array.from({ length: 17 }, (_, at) => at + 1)],
      agent_nonce: nonceRefused,
      max_inflight: countsRefused,
      manifest_sha256: ['0'.repeat(63), '0'.repeat(65), 'A'.repeat(64)],
      audience: ['', 'u'.repeat(1025)],
      identity: ['', 'Token', 'none', null, true, ['token']],
      features: featuresRefused,
      service: ['', 'Orders', '1a', '-a', 'a_b', 's'.repeat(49), null, 1],
    },
  },
  {
    name: 'challenge',
    parse: parseChallenge,
    message: challenge,
    optional: { features: ['fleet'], worker: 3 },
    accepted: {
      conn_id: idsAccepted,
      replica_id: idsAccepted,
      version: countsAccepted,
      limits: [{ max_params_bytes: 1 }, { max_params_bytes: 0xffff_ffff }, { max_params_bytes: 1, more: 1 }],
      features: [[], ['fleet']],
      worker: [0, 63],
    },
    refused: {
      type: ['hello'],
      conn_id: idsRefused,
      replica_id: idsRefused,
      gateway_nonce: nonceRefused,
      version: countsRefused,
      limits: [
        {},
        [],
        { max_params_bytes: 0 },
        { max_params_bytes: '1' },
        { max_params_bytes: 0x1_0000_0000 },
      ],
      features: featuresRefused,
      worker: [-1, 64, 0.5, '0', null],
    },
  },
  {
    name: 'auth',
    parse: parseAuth,
    message: auth,
    optional: {},
    accepted: {},
    refused: { type: ['welcome'], signature: ['s'.repeat(85), 's'.repeat(87), `${'s'.repeat(85)}=`] },
  },
  {
    name: 'welcome',
    parse: parseWelcome,
    message: welcome,
    optional: { links_per_replica: 4 },
    accepted: { replica_count: countsAccepted, links_per_replica: countsAccepted },
    refused: { type: ['auth'], replica_count: countsRefused, links_per_replica: countsRefused },
  },
];

const bytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

function isRead(parse: Kind['parse'], message: Fields): boolean {
  try {
    parse(bytes(message));
    return true;
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return false;
  }
}

describe.each(kinds)('$name', ({ parse, message, optional, accepted, refused }) => {
  test('I20: is read, its fields unchanged, unknown ones kept', () => {
    expect(parse(bytes(message))).toEqual(message);
    expect(parse(bytes({ ...message, ...optional }))).toEqual({ ...message, ...optional });
    expect(parse(bytes({ ...message, later: { version: 2 } }))).toEqual({
      ...message,
      later: { version: 2 },
    });
  });

  test.each(Object.keys(message))('I20: is refused without %s', (field) => {
    const rest = Object.fromEntries(Object.entries(message).filter(([key]) => key !== field));
    expect(() => parse(bytes(rest))).toThrow(ProtocolError);
  });

  test.each(Object.keys(message))('I20: is refused with another type in %s', (field) => {
    const present = message[field];
    const others = [null, true, 1.5, 'text with spaces', [null], {}].filter(
      (other) => field !== 'audience' || typeof other !== typeof present,
    );
    expect(others.filter((other) => isRead(parse, { ...message, [field]: other }))).toEqual([]);
  });

  test('I20: bounds of each field are exact', () => {
    for (const [field, values] of Object.entries(accepted)) {
      for (const value of values)
        expect(parse(bytes({ ...message, [field]: value }))).toMatchObject({ [field]: value });
    }
    for (const [field, values] of Object.entries(refused)) {
      const read = values.filter((value) => isRead(parse, { ...message, [field]: value }));
      expect({ [field]: read }).toEqual({ [field]: [] });
    }
  });

  test('I20: may be 4,096 bytes long, not 4,097', () => {
    const padded = (length: number): Buffer => Buffer.from(JSON.stringify(message).padEnd(length, ' '));
    expect(parse(padded(4096))).toEqual(message);
    expect(() => parse(padded(4097))).toThrow(ProtocolError);
  });

  test('I20: anything that is not its JSON object in UTF-8 is refused', () => {
    const text = JSON.stringify(message);
    for (const raw of [
      Buffer.alloc(0),
      Buffer.from('null'),
      Buffer.from('[]'),
      Buffer.from(`${text}${text}`),
      Buffer.from(text.slice(0, -1)),
      Buffer.from(text, 'utf16le'),
      Buffer.concat([
        Buffer.from(text.slice(0, -1)),
        Buffer.from(',"x":"'),
        Buffer.from([0xff]),
        Buffer.from('"}'),
      ]),
    ]) {
      expect(() => parse(raw)).toThrow(ProtocolError);
    }
  });

  test('I20: arbitrary bytes and arbitrary JSON are read or refused, nothing else happens', () => {
    const arbitrary = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.json().map((text) => Buffer.from(text)),
      fc
        .record({ key: fc.constantFrom(...Object.keys(message)), value: fc.jsonValue() })
        .map(({ key, value }) => bytes({ ...message, [key]: value })),
    );
    fc.assert(
      fc.property(arbitrary, (raw) => {
        try {
          parse(raw);
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError);
        }
      }),
      { numRuns: 300 },
    );
  });
});

test('I20: a refusal names the message and the field, never the value', () => {
  expect(() => parseHello(bytes({ ...hello, max_inflight: 'secret' }))).toThrow(
    /^hello: \/max_inflight (?!.*secret)/,
  );
});
