import * as fc from 'fast-check';
import { ProtocolError } from '../rules/close-code.ts';
import { FRAME_HEADER_BYTES } from '../rules/limits.ts';
import { arbitraryMessage } from './arbitrary-frame.testing.ts';
import { decodeMessage } from './decode.ts';
import type { Frame } from './frame.ts';

const CORPUS_MESSAGES = 500;
/** Where length fields and flags go wrong first. */
const EDGE_BYTES = [0, 1, 0x7f, 0x80, 0xfe, 0xff] as const;

/** Endless messages to try on the decoder: valid, mutated, made up; the same for the same seed. */
export function createMessageSource(seed: number): () => Buffer {
  const below = createRandom(seed);
  const corpus = fc.sample(arbitraryMessage, { seed, numRuns: CORPUS_MESSAGES });

  const valid = (): Buffer => Buffer.from(corpus[below(corpus.length)]?.message ?? []);
  const noise = (length: number): Buffer => Buffer.from(Array.from({ length }, () => below(256)));

  /** Noise behind a header that promises exactly its length, so that the payload is looked at. */
  function framedNoise(): Buffer {
    const payload = noise(below(below(8) === 0 ? 600 : 40));
    const header = Buffer.alloc(FRAME_HEADER_BYTES);
    header.writeUInt8(below(12), 0);
    header.writeUInt8(below(8), 1);
    header.writeUInt16BE(payload.length, 2);
    header.writeUInt32BE(below(4), 4);
    return Buffer.concat([header, payload]);
  }

  function mutate(message: Buffer): Buffer {
    const at = below(message.length + 1);
    const size = 1 + below(12);
    switch (below(7)) {
      case 0:
        if (at < message.length) message[at] = (message[at] ?? 0) ^ (1 << below(8));
        return message;
      case 1:
        if (at < message.length) message[at] = EDGE_BYTES[below(EDGE_BYTES.length)] ?? 0;
        return message;
      case 2:
        return Buffer.concat([message.subarray(0, at), noise(size), message.subarray(at)]);
      case 3:
        return Buffer.concat([message.subarray(0, at), message.subarray(at + size)]);
      case 4:
        return Buffer.concat([message.subarray(0, at + size), message.subarray(at)]);
      case 5: {
        const other = valid();
        return Buffer.concat([message.subarray(0, at), other.subarray(below(other.length))]);
      }
      default:
        return message.subarray(0, at);
    }
  }

  /** As `mutate` within the first frame, whose length field stays true, so that the fault is found later. */
  function mutatePayload(message: Buffer): Buffer {
    const end = message.length < FRAME_HEADER_BYTES ? Infinity : FRAME_HEADER_BYTES + message.readUInt16BE(2);
    if (end > message.length) return mutate(message);
    const payload = mutate(message.subarray(FRAME_HEADER_BYTES, end));
    const header = Buffer.from(message.subarray(0, FRAME_HEADER_BYTES));
    header.writeUInt16BE(payload.length, 2);
    return Buffer.concat([header, payload, message.subarray(end)]);
  }

  return () => {
    const kind = below(100);
    if (kind < 10) return noise(below(64));
    if (kind < 30) return framedNoise();
    let message = valid();
    if (kind < 35) return message;
    for (let mutations = 1 + below(3); mutations > 0; mutations--) {
      message = below(2) === 0 ? mutate(message) : mutatePayload(message);
    }
    return message;
  };
}

/** The frames of a message, or undefined when it is refused as it should be; any other error is thrown. */
export function tryDecode(message: Buffer): Frame[] | undefined {
  try {
    return decodeMessage(message);
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

/** Whole numbers from 0 to `bound` - 1, from Marsaglia's xorshift32. */
function createRandom(seed: number): (bound: number) => number {
  let state = seed >>> 0 || 1;
  return (bound) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % bound;
  };
}
