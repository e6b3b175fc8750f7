import * as fc from 'fast-check';
import { AGENT_ERROR_CODES } from '../rules/errors.ts';
import { MESSAGE_MAX_BYTES } from '../rules/limits.ts';
import { encodeFrame } from './encode.ts';
import { DATABASE_STATES, type Frame } from './frame.ts';

const UINT32_MAX = 0xffff_ffff;
const PIECE_MAX_BYTES = 300;

const callId = fc.integer({ min: 1, max: UINT32_MAX });
const uint32 = fc.integer({ min: 0, max: UINT32_MAX });
const text = (maxLength: number): fc.Arbitrary<string> => fc.string({ unit: 'binary', maxLength });
const latin1 = fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code));
const metadata = fc.dictionary(fc.string({ unit: latin1, maxLength: 20 }), text(60), { maxKeys: 5 });

const bytes = (minLength: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ minLength, maxLength: PIECE_MAX_BYTES }).map((array) => Buffer.from(array));

/** A first piece, the length announced for the whole, and whether that is all of it. */
const bodyStart = fc
  .tuple(bytes(0), fc.oneof(fc.constant(0), fc.integer({ min: 1, max: UINT32_MAX - PIECE_MAX_BYTES })))
  .map(([piece, rest]) => ({ piece, total: piece.length + rest, fin: rest === 0 }));

/** Any frame of one type, valid by PROTOCOL.md and small. */
export const arbitraryFrames: { readonly [T in Frame['type']]: fc.Arbitrary<Frame> } = {
  request: fc
    .record({ id: callId, capability: text(16), timeoutMs: uint32, metadata, body: bodyStart })
    .map(({ body, ...head }) => ({
      type: 'request',
      ...head,
      paramsLength: body.total,
      params: body.piece,
      fin: body.fin,
    })),
  result: fc
    .record({ id: callId, count: uint32, truncated: fc.boolean(), body: bodyStart })
    .map(({ body, ...head }) => ({
      type: 'result',
      ...head,
      rowsLength: body.total,
      rows: body.piece,
      fin: body.fin,
    })),
  data: fc.record({
    type: fc.constant('data'),
    id: callId,
    bytes: bytes(1),
    fin: fc.boolean(),
  }),
  error: fc.record({
    type: fc.constant('error'),
    id: callId,
    code: fc.constantFrom(...AGENT_ERROR_CODES),
    message: text(80),
    notStarted: fc.boolean(),
  }),
  cancel: fc.record({ type: fc.constant('cancel'), id: callId }),
  credit: fc.record({
    type: fc.constant('credit'),
    id: callId,
    bytes: fc.integer({ min: 1, max: UINT32_MAX }),
  }),
  ping: fc.record({ type: fc.constant('ping'), token: uint32 }),
  pong: fc.record({ type: fc.constant('pong'), token: uint32 }),
  go_away: fc.record({ type: fc.constant('go_away'), reason: text(60) }),
  fleet: fc.record({
    type: fc.constant('fleet'),
    replicaCount: fc.integer({ min: 1, max: UINT32_MAX }),
    linksPerReplica: fc.integer({ min: 1, max: UINT32_MAX }),
  }),
  cursor: fc.record({
    type: fc.constant('cursor'),
    id: callId,
    cursor: text(80).filter((cursor) => cursor !== ''),
  }),
  databases: fc.record({
    type: fc.constant('databases'),
    databases: fc.uniqueArray(
      fc.record({
        name: fc.stringMatching(/^[a-z][a-z0-9_]{0,31}$/),
        state: fc.constantFrom(...DATABASE_STATES),
      }),
      { maxLength: 4, selector: ({ name }) => name },
    ),
  }),
};

const arbitraryFrame: fc.Arbitrary<Frame> = fc.oneof(...Object.values(arbitraryFrames));

/** A valid message and the frames in it. */
export const arbitraryMessage: fc.Arbitrary<{ frames: Frame[]; message: Buffer }> = fc
  .array(arbitraryFrame, { minLength: 1, maxLength: 6 })
  .map((frames) => ({ frames, message: Buffer.concat(frames.map((frame) => encodeFrame(frame))) }))
  .filter(({ message }) => message.length <= MESSAGE_MAX_BYTES);
