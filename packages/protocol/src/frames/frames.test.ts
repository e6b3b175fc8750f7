import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ProtocolError } from '../rules/close-code.ts';
import { FRAME_HEADER_BYTES, FRAME_PAYLOAD_MAX_BYTES, MESSAGE_MAX_BYTES } from '../rules/limits.ts';
import { arbitraryFrames, arbitraryMessage } from './arbitrary-frame.testing.ts';
import { decodeMessage } from './decode.ts';
import { encodeFrame, requestOverhead } from './encode.ts';
import type { DatabaseState, ErrorFrame, Frame, RequestFrame, ResultFrame } from './frame.ts';
import { createMessageSource, tryDecode } from './mutate.testing.ts';

const request: RequestFrame = {
  type: 'request',
  id: 1,
  capability: 'get_user',
  timeoutMs: 30_000,
  metadata: { request_id: 'r-1' },
  paramsLength: 2,
  params: Buffer.from('{}'),
  fin: true,
};
const result: ResultFrame = {
  type: 'result',
  id: 1,
  count: 0,
  truncated: false,
  rowsLength: 2,
  rows: Buffer.from('[]'),
  fin: true,
};
const failure: ErrorFrame = {
  type: 'error',
  id: 1,
  code: 'AGENT_BUSY',
  message: '',
  notStarted: true,
};

/** A frame made from its bytes, as PROTOCOL.md lays them out; nothing is checked. */
function raw(type: number, flags: number, id: number, payload: Uint8Array | number[]): Buffer {
  const bytes = Buffer.from(payload);
  const header = Buffer.from([type, flags, 0, 0, 0, 0, 0, 0]);
  header.writeUInt16BE(bytes.length, 2);
  header.writeUInt32BE(id, 4);
  return Buffer.concat([header, bytes]);
}

const uint16 = (value: number): number[] => [value >> 8, value & 0xff];
const uint32 = (value: number): number[] => [...uint16(value >>> 16), ...uint16(value & 0xffff)];
const filled = (length: number): number[] => Array.from({ length }, () => 0x61);
const metadataOf = (entries: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: entries }, (_, entry) => [`k${entry}`, 'v']));
/** Entries that take this many bytes with what says how long they are. */
const metadataOfBytes = (bytes: number): Record<string, string> => ({
  ...Object.fromEntries(['a', 'b', 'c', 'd'].map((key) => [key, 'v'.repeat(8000)])),
  e: 'v'.repeat(bytes - 4 * 8004 - 4),
});
const paramsFor = (bytes: number): RequestFrame => ({
  ...request,
  paramsLength: bytes,
  params: Buffer.alloc(bytes, 0x20),
});
const rowsFor = (bytes: number): ResultFrame => ({
  ...result,
  rowsLength: bytes,
  rows: Buffer.alloc(bytes, 0x20),
});

describe.each(Object.entries(arbitraryFrames))('%s', (_type, arbitrary) => {
  test('I1: is read as it was written', () => {
    fc.assert(
      fc.property(arbitrary, (frame) => {
        expect(decodeMessage(encodeFrame(frame))).toEqual([frame]);
      }),
    );
  });

  test('I2: is refused when cut off anywhere', () => {
    fc.assert(
      fc.property(arbitrary, (frame) => {
        const message = encodeFrame(frame);
        for (let length = 0; length < message.length; length++) {
          expect(() => decodeMessage(message.subarray(0, length))).toThrow(ProtocolError);
        }
      }),
    );
  });
});

test('I1: several frames in a message are read in their order', () => {
  fc.assert(
    fc.property(arbitraryMessage, ({ frames, message }) => {
      expect(decodeMessage(message)).toEqual(frames);
    }),
  );
});

test('I2: a message cut off between two frames is the frames before the cut, anywhere else it is refused', () => {
  fc.assert(
    fc.property(arbitraryMessage, ({ frames, message }) => {
      let framesBefore = 0;
      let boundary = 0;
      for (let length = 1; length < message.length; length++) {
        const frame = frames[framesBefore];
        if (frame !== undefined && length === boundary + encodeFrame(frame).length) {
          framesBefore++;
          boundary = length;
          expect(decodeMessage(message.subarray(0, length))).toHaveLength(framesBefore);
        } else {
          expect(tryDecode(message.subarray(0, length))).toBeUndefined();
        }
      }
    }),
    { numRuns: 50 },
  );
});

test('I2: any 20,000 messages are read or refused, and what is read can be written and read again', () => {
  const tally = { decoded: 0, refused: 0 };
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 0x7fff_ffff }), (seed) => {
      const next = createMessageSource(seed);
      for (let count = 0; count < 2000; count++) {
        const frames = tryDecode(next());
        tally[frames === undefined ? 'refused' : 'decoded']++;
        if (frames !== undefined && count % 10 === 0) {
          expect(decodeMessage(Buffer.concat(frames.map((frame) => encodeFrame(frame))))).toEqual(frames);
        }
      }
    }),
    // A seed is not smaller than another one: nothing is gained by shrinking.
    { numRuns: 10, endOnFailure: true },
  );
  expect(Math.min(tally.decoded, tally.refused)).toBeGreaterThan(2000);
});

test('I2: arbitrary bytes are read or refused', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      tryDecode(Buffer.from(bytes));
    }),
    { numRuns: 2000 },
  );
});

function databasesOf(count: number): DatabaseState[] {
  return Array.from({ length: count }, (_, at) => ({
    name: `d${String(at).padStart(31, '0')}`,
    state: 'refused',
  }));
}

const roomForParams = FRAME_PAYLOAD_MAX_BYTES - (requestOverhead(request) - FRAME_HEADER_BYTES);

test.each<[string, Frame]>([
  ['the largest id', { type: 'cancel', id: 0xffff_ffff }],
  ['a capability name of 64 bytes', { ...request, capability: 'n'.repeat(64) }],
  ['a capability name of 64 bytes in two-byte letters', { ...request, capability: 'é'.repeat(32) }],
  ['32 metadata entries', { ...request, metadata: metadataOf(32) }],
  ['a metadata key of 255 bytes', { ...request, metadata: { ['k'.repeat(255)]: 'v' } }],
  ['a metadata value of 8,192 bytes', { ...request, metadata: { k: 'v'.repeat(8192) } }],
  ['metadata of 32,768 bytes', { ...request, metadata: metadataOfBytes(32_768) }],
  ['a code of version 2', { ...failure, code: 'AGENT_PRINCIPAL_REFUSED' }],
  ['the longest timeout', { ...request, timeoutMs: 0xffff_ffff }],
  ['a request that fills a frame', paramsFor(roomForParams)],
  ['a result that fills a frame', rowsFor(65_527)],
  ['the largest count', { ...result, count: 0xffff_ffff }],
  ['data that fills a frame', { type: 'data', id: 1, bytes: Buffer.alloc(65_535), fin: true }],
  ['one byte of data', { type: 'data', id: 1, bytes: Buffer.alloc(1), fin: false }],
  ['an error message of 16,384 bytes', { ...failure, message: 'm'.repeat(16_384) }],
  ['a credit of one byte', { type: 'credit', id: 1, bytes: 1 }],
  ['the largest credit', { type: 'credit', id: 1, bytes: 0xffff_ffff }],
  ['the largest token', { type: 'ping', token: 0xffff_ffff }],
  ['a go-away reason of 256 bytes', { type: 'go_away', reason: 'r'.repeat(256) }],
  ['the smallest fleet', { type: 'fleet', replicaCount: 1, linksPerReplica: 1 }],
  ['the largest fleet', { type: 'fleet', replicaCount: 0xffff_ffff, linksPerReplica: 0xffff_ffff }],
  ['databases of which there are none', { type: 'databases', databases: [] }],
  [
    'a thousand databases with the longest names and states',
    { type: 'databases', databases: databasesOf(1000) },
  ],
])('I3: %s passes', (_what, frame) => {
  expect(decodeMessage(encodeFrame(frame))).toEqual([frame]);
});

test.each<[string, Frame]>([
  ['an id beyond 32 bits', { type: 'cancel', id: 0x1_0000_0000 }],
  ['a capability name of 65 bytes', { ...request, capability: 'n'.repeat(65) }],
  ['a capability name of 66 bytes in two-byte letters', { ...request, capability: 'é'.repeat(33) }],
  ['33 metadata entries', { ...request, metadata: metadataOf(33) }],
  ['a metadata key of 256 bytes', { ...request, metadata: { ['k'.repeat(256)]: 'v' } }],
  ['a metadata value of 8,193 bytes', { ...request, metadata: { k: 'v'.repeat(8193) } }],
  ['metadata of 32,769 bytes', { ...request, metadata: metadataOfBytes(32_769) }],
  ['a timeout beyond 32 bits', { ...request, timeoutMs: 0x1_0000_0000 }],
  ['a timeout below zero', { ...request, timeoutMs: -1 }],
  ['a request one byte too large', paramsFor(roomForParams + 1)],
  ['a result one byte too large', rowsFor(65_528)],
  ['a count beyond 32 bits', { ...result, count: 0x1_0000_0000 }],
  ['data one byte too large', { type: 'data', id: 1, bytes: Buffer.alloc(65_536), fin: true }],
  ['an error message of 16,385 bytes', { ...failure, message: 'm'.repeat(16_385) }],
  ['a credit beyond 32 bits', { type: 'credit', id: 1, bytes: 0x1_0000_0000 }],
  ['a token beyond 32 bits', { type: 'pong', token: 0x1_0000_0000 }],
  ['a go-away reason of 257 bytes', { type: 'go_away', reason: 'r'.repeat(257) }],
  ['replicas beyond 32 bits', { type: 'fleet', replicaCount: 0x1_0000_0000, linksPerReplica: 1 }],
  ['links beyond 32 bits', { type: 'fleet', replicaCount: 1, linksPerReplica: 0x1_0000_0000 }],
  ['1,001 databases', { type: 'databases', databases: databasesOf(1001) }],
])('I3: %s is not written', (_what, frame) => {
  expect(() => encodeFrame(frame)).toThrow(RangeError);
});

test('what a later agent says of a database beside its state is left out', () => {
  const payload = Buffer.from('[{"name":"shop","state":"away","age_ms":7}]');
  expect(decodeMessage(raw(12, 0, 0, payload))).toEqual([
    { type: 'databases', databases: [{ name: 'shop', state: 'away' }] },
  ]);
});

const noBody = uint32(0);
const requestHead = [...uint32(1000), ...noBody];

test.each<[string, Buffer]>([
  ['an empty message', Buffer.alloc(0)],
  ['type 0', raw(0, 0, 1, [])],
  ['type 11', raw(11, 0, 1, [])],
  ['a call-level frame without id', raw(5, 0, 0, [])],
  ['a link-level frame with an id', raw(7, 0, 1, uint32(0))],
  ['a capability name of 65 bytes', raw(1, 1, 1, [...requestHead, 65, ...filled(65), 0])],
  ['33 metadata entries', raw(1, 1, 1, [...requestHead, 0, 33, ...filled(33).flatMap(() => [0, 0, 0])])],
  [
    'a metadata value of 8,193 bytes',
    raw(1, 1, 1, [...requestHead, 0, 1, 0, ...uint16(8193), ...filled(8193)]),
  ],
  [
    'metadata of 32,769 bytes',
    raw(1, 1, 1, [
      ...requestHead,
      0,
      5,
      ...[8000, 8000, 8000, 8000].flatMap((size, at) => [1, 0x61 + at, ...uint16(size), ...filled(size)]),
      0,
      ...uint16(750),
      ...filled(750),
    ]),
  ],
  [
    'the same metadata key twice',
    raw(1, 1, 1, [...requestHead, 0, 2, 1, 0x6b, ...uint16(0), 1, 0x6b, ...uint16(0)]),
  ],
  ['more parameters than announced', raw(1, 1, 1, [...requestHead, 0, 0, 0x7b])],
  ['parameters that end early', raw(1, 1, 1, [...uint32(1000), ...uint32(2), 0, 0, 0x7b])],
  ['parameters that do not end', raw(1, 0, 1, [...requestHead, 0, 0])],
  ['more rows than announced', raw(2, 1, 1, [...uint32(0), ...uint32(1), 0x5b, 0x5d])],
  ['rows that end early', raw(2, 1, 1, [...uint32(0), ...uint32(2), 0x5b])],
  ['rows that do not end', raw(2, 0, 1, [...uint32(0), ...uint32(1), 0x5b])],
  ['empty data', raw(3, 1, 1, [])],
  ['an unknown error code', raw(4, 0, 1, [3, ...filled(3)])],
  ['an error message of 16,385 bytes', raw(4, 0, 1, [10, ...Buffer.from('AGENT_BUSY'), ...filled(16_385)])],
  ['a cancel with a payload', raw(5, 0, 1, [0])],
  ['a credit of nothing', raw(6, 0, 1, uint32(0))],
  ['a credit of five bytes', raw(6, 0, 1, [0, ...uint32(1)])],
  ['a ping of three bytes', raw(7, 0, 0, [1, 2, 3])],
  ['a go-away reason of 257 bytes', raw(9, 0, 0, filled(257))],
  ['a go-away reason that is not UTF-8', raw(9, 0, 0, [0xc3, 0x28])],
  ['a fleet of no replica', raw(10, 0, 0, [...uint32(0), ...uint32(1)])],
  ['a fleet of no links', raw(10, 0, 0, [...uint32(1), ...uint32(0)])],
  ['a fleet of seven bytes', raw(10, 0, 0, [0, 0, 1, ...uint32(1)])],
  ['a fleet with an id', raw(10, 0, 1, [...uint32(1), ...uint32(1)])],
  ['databases with an id', raw(12, 0, 1, Buffer.from('[]'))],
  ['databases with a flag', raw(12, 1, 0, Buffer.from('[]'))],
  ['databases that are not JSON', raw(12, 0, 0, Buffer.from('['))],
  ['databases that are not UTF-8', raw(12, 0, 0, [0x5b, 0xff, 0x5d])],
  ['databases that are no list', raw(12, 0, 0, Buffer.from('{}'))],
  ['1,001 databases', raw(12, 0, 0, Buffer.from(JSON.stringify(databasesOf(1001))))],
  ...[
    'null',
    '7',
    '{"name":"shop"}',
    '{"state":"ready"}',
    '{"name":"shop","state":"gone"}',
    '{"name":"Shop","state":"ready"}',
    '{"name":"","state":"ready"}',
    `{"name":"${'s'.repeat(33)}","state":"ready"}`,
    '{"name":"shop","name":"shop","state":"ready"}',
    '{"name":"shop","state":"ready"},{"name":"shop","state":"away"}',
  ].map((entry): [string, Buffer] => [`the database ${entry}`, raw(12, 0, 0, Buffer.from(`[${entry}]`))]),
  ['a capability name that is not UTF-8', raw(1, 1, 1, [...requestHead, 1, 0xff, 0])],
  ['a metadata value that is not UTF-8', raw(1, 1, 1, [...requestHead, 0, 1, 0, ...uint16(1), 0xff])],
  ['an error message that is not UTF-8', raw(4, 0, 1, [10, ...Buffer.from('AGENT_BUSY'), 0xff])],
  ['a message one byte too large', Buffer.concat([raw(3, 0, 1, Buffer.alloc(65_535)), Buffer.alloc(1)])],
])('I3: %s is refused', (_what, message) => {
  expect(() => decodeMessage(message)).toThrow(ProtocolError);
});

test('I3: a message may be as long as one largest frame, one byte more is refused', () => {
  const ping = encodeFrame({ type: 'ping', token: 1 });
  const count = Math.floor(MESSAGE_MAX_BYTES / ping.length);
  const rest = MESSAGE_MAX_BYTES - count * ping.length;
  const filler = (bytes: number): Buffer =>
    encodeFrame({ type: 'data', id: 1, bytes: Buffer.alloc(ping.length + bytes - 8), fin: false });
  const pings = Array.from({ length: count - 1 }, () => ping);
  expect(decodeMessage(Buffer.concat([...pings, filler(rest)]))).toHaveLength(count);
  expect(() => decodeMessage(Buffer.concat([...pings, filler(rest + 1)]))).toThrow(ProtocolError);
});

const knownFlags: Record<number, number> = { 1: 0b001, 2: 0b011, 3: 0b001, 4: 0b100 };
const payloads: Record<number, number[]> = {
  1: [...requestHead, 0, 0],
  2: [...uint32(0), ...noBody],
  3: [0x20],
  4: [10, ...Buffer.from('AGENT_BUSY')],
  5: [],
  6: uint32(1),
  7: uint32(0),
  8: uint32(0),
  9: [],
  10: [...uint32(1), ...uint32(1)],
};

test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])('I3: type %i takes its own flags and no others', (type) => {
  const known = knownFlags[type] ?? 0;
  // An empty body is complete with its first frame, so it cannot go without `fin`.
  const needed = type === 1 || type === 2 ? 1 : 0;
  for (let flags = 0; flags < 256; flags++) {
    const frames = tryDecode(raw(type, flags, type < 7 ? 1 : 0, payloads[type] ?? []));
    const valid = (flags & ~known) === 0 && (flags & needed) === needed;
    expect(frames !== undefined, `flags ${flags}`).toBe(valid);
  }
});

test('I1: a metadata key named like a property of objects is an ordinary key', () => {
  const metadata = Object.fromEntries([
    ['__proto__', 'a'],
    ['constructor', 'b'],
  ]);
  const [frame] = decodeMessage(encodeFrame({ ...request, metadata }));
  expect(frame?.type === 'request' && Object.entries(frame.metadata)).toEqual(Object.entries(metadata));
});

describe('at version 1', () => {
  const refusedAt2 = { ...failure, code: 'AGENT_PRINCIPAL_REFUSED' } as const;

  test.each<[string, Frame]>([
    ['a metadata value of 1,024 bytes', { ...request, metadata: { k: 'v'.repeat(1024) } }],
    [
      '32 metadata entries of the greatest size',
      {
        ...request,
        metadata: Object.fromEntries(
          Array.from({ length: 32 }, (_, at) => [String(at).padStart(255, 'k'), 'v'.repeat(1024)]),
        ),
      },
    ],
  ])('I3: %s passes', (_what, frame) => {
    expect(decodeMessage(encodeFrame(frame, 1), 1)).toEqual([frame]);
  });

  test.each<[string, Frame]>([
    ['a metadata value of 1,025 bytes', { ...request, metadata: { k: 'v'.repeat(1025) } }],
    ['a code of version 2', refusedAt2],
  ])('I40: %s is neither written nor read', (_what, frame) => {
    expect(() => encodeFrame(frame, 1)).toThrow(RangeError);
    expect(() => decodeMessage(encodeFrame(frame, 2), 1)).toThrow(ProtocolError);
  });
});
