import { createHash, sign } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { AGENT_ERROR_CODES } from './rules/errors.ts';
import { CLOSE } from './rules/close-code.ts';
import { agentKeyId, privateKeyFromSeed, publicKeyFromRaw, rawPublicKey } from './handshake/ed25519.ts';
import { TYPE } from './frames/layout.ts';
import { PROTOCOL_VERSIONS } from './rules/limits.ts';
import { parseChallenge, parseHello } from './handshake/messages.ts';
import { signedBytes, signTranscript, verifyTranscript } from './handshake/signature.ts';

const root = new URL('../../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const document = read('PROTOCOL.md');

/** Rows like `| I7 | text | side | files |`. */
const invariants = Array.from(
  document.matchAll(/^\| I(\d+) +\|.*\| (.*) \|$/gm),
  ([, number = '', tests = '']) => ({
    number: Number(number),
    files: Array.from(tests.matchAll(/`([^`]+)`/g), ([, file = '']) => file),
  }),
);

test('the invariants are numbered without a gap', () => {
  expect(invariants.map(({ number }) => number)).toEqual(invariants.map((_, at) => at + 1));
  expect(invariants.length).toBeGreaterThan(0);
});

describe.each(invariants)('I$number', ({ number, files }) => {
  test('names its test', () => {
    expect(files).not.toEqual([]);
  });

  test.each(files)('is proved in %s', (file) => {
    expect(existsSync(new URL(file, root)), 'the file exists').toBe(true);
    expect(read(file)).toMatch(new RegExp(String.raw`['"\`]I${number}: `));
  });
});

test('no test claims an invariant that the document does not have', () => {
  const known = new Set(invariants.map(({ number }) => number));
  const present = new Set(
    invariants.flatMap(({ files }) => files).filter((file) => existsSync(new URL(file, root))),
  );
  for (const file of present) {
    for (const [, number] of read(file).matchAll(/['"`]I(\d+): /g)) {
      expect(known.has(Number(number)), `I${number} in ${file}`).toBe(true);
    }
  }
});

test('every frame type, close code and error code is in its table, and no other', () => {
  const rows = (pattern: RegExp): string[] =>
    Array.from(document.matchAll(pattern), ([, first = '', second = '']) => `${first} ${second}`.trim());
  expect(rows(/^\| (\d\d?) +\| ([a-z_]+) +\| .* \| (?:call|link) +\|/gm)).toEqual(
    Object.entries(TYPE).map(([name, number]) => `${number} ${name}`),
  );
  expect(new Set(rows(/^\| (\d{4}) +\| ([a-z_]+) +\|/gm))).toEqual(
    new Set(Object.entries(CLOSE).map(([name, code]) => `${code} ${name}`)),
  );
  expect(rows(/^\| (AGENT_[A-Z_]+) +\|/gm).toSorted()).toEqual(AGENT_ERROR_CODES.toSorted());
});

/** Blocks of lines like `key_id = If4x...`, one for each version. */
const examples = Array.from(document.matchAll(/^private_seed = .*?(?=^```)/gms), ([block]) =>
  Object.fromEntries(
    Array.from(block.matchAll(/^([a-z_0-9]+) = (.*)$/gm), ([, name = '', value = '']) => [name, value]),
  ),
);

test('each version has its worked example', () => {
  expect(examples.map(({ version }) => Number(version))).toEqual([...PROTOCOL_VERSIONS]);
});

test.each(examples)(
  'I22: the worked example of version $version is right by its own definition and by the code',
  (given) => {
    const field = (name: string): string => {
      const value = given[name];
      if (value === undefined) throw new TypeError(`cannot read the example: it lacks ${name}`);
      return value;
    };
    const bytes = (name: string): Buffer => Buffer.from(field(name), 'utf8');
    const lp = (text: Buffer): Buffer => {
      const length = new DataView(new ArrayBuffer(4));
      length.setUint32(0, text.length, false);
      return Buffer.concat([Buffer.from(length.buffer), text]);
    };

    const hash = createHash('sha256').update(Buffer.concat([lp(bytes('hello')), lp(bytes('challenge'))]));
    const messages = hash.digest();
    expect(messages.toString('hex')).toBe(field('messages_sha256'));
    const prefix = Buffer.from('svc-agent/v1 auth\u0000');
    const signed = Buffer.concat([prefix, lp(bytes('audience')), lp(bytes('key_id')), messages]);
    expect(signed.toString('hex')).toBe(field('signed_bytes'));

    const privateKey = privateKeyFromSeed(Buffer.from(field('private_seed'), 'hex'));
    expect(sign(null, signed, privateKey).toString('base64url')).toBe(field('signature'));

    const transcript = {
      audience: field('audience'),
      keyId: field('key_id'),
      hello: bytes('hello'),
      challenge: bytes('challenge'),
    };
    expect(signedBytes(transcript).equals(signed)).toBe(true);
    expect(signTranscript(transcript, privateKey).toString('base64url')).toBe(field('signature'));
    const publicKey = Buffer.from(field('public_key'), 'hex');
    expect(rawPublicKey(privateKey).equals(publicKey)).toBe(true);
    expect(agentKeyId(publicKey)).toBe(field('key_id'));
    const signature = Buffer.from(field('signature'), 'base64url');
    expect(verifyTranscript(transcript, publicKeyFromRaw(publicKey), signature)).toBe(true);

    const hello = parseHello(transcript.hello);
    expect([hello.audience, hello.key_id]).toEqual([transcript.audience, transcript.keyId]);
    expect(parseChallenge(transcript.challenge)).toMatchObject({
      conn_id: 'c1',
      version: Number(field('version')),
    });
  },
);
