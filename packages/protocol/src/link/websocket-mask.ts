/**
 * The masking of RFC 6455, section 5.3, four bytes at a time. `ws` looks for a module of these two functions, by the
 * name of its optional native companion, and masks byte by byte without one, at ten times the cost; the executables
 * are bundled with this one under that name.
 */

/** Below this the views that words need cost more than they save. */
const WORDS_FROM_BYTES = 512;

/** Writes `length` bytes of `source` to `output` at `offset`, masked with the four bytes of `key`. */
export function mask(
  source: Uint8Array,
  key: Uint8Array,
  output: Uint8Array,
  offset: number,
  length: number,
): void {
  if (length < WORDS_FROM_BYTES) {
    for (let at = 0; at < length; at++) output[offset + at] = (source[at] ?? 0) ^ (key[at & 3] ?? 0);
    return;
  }
  const target = output.subarray(offset, offset + length);
  target.set(source.length === length ? source : source.subarray(0, length));
  unmask(target, key);
}

/** In place: masking again with the same key gives back what was there. */
export function unmask(bytes: Uint8Array, key: Uint8Array): void {
  const { buffer, byteOffset, length } = bytes;
  if (length < WORDS_FROM_BYTES) {
    xorBytes(bytes, key, 0, length);
    return;
  }
  // Words begin where the machine wants them.
  const before = -byteOffset & 3;
  const words = new Uint32Array(buffer, byteOffset + before, (length - before) >>> 2);
  xorBytes(bytes, key, 0, before);
  xorWords(words, wordOf(key, before));
  xorBytes(bytes, key, before + 4 * words.length, length);
}

function xorBytes(bytes: Uint8Array, key: Uint8Array, from: number, to: number): void {
  for (let at = from; at < to; at++) bytes[at] = (bytes[at] ?? 0) ^ (key[at & 3] ?? 0);
}

const turned = new Uint32Array(1);
const turnedBytes = new Uint8Array(turned.buffer);

/** The key as it falls upon a word that begins at `shift`, in this machine's order of bytes. */
function wordOf(key: Uint8Array, shift: number): number {
  for (let at = 0; at < 4; at++) turnedBytes[at] = key[(at + shift) & 3] ?? 0;
  return turned[0] ?? 0;
}

/** Four words a step, which halves the time. */
function xorWords(words: Uint32Array, word: number): void {
  const steps = words.length & ~3;
  for (let at = 0; at < steps; at += 4) {
    words[at] = (words[at] ?? 0) ^ word;
    words[at + 1] = (words[at + 1] ?? 0) ^ word;
    words[at + 2] = (words[at + 2] ?? 0) ^ word;
    words[at + 3] = (words[at + 3] ?? 0) ^ word;
  }
  for (let at = steps; at < words.length; at++) words[at] = (words[at] ?? 0) ^ word;
}
