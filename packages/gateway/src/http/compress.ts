import type { ServerResponse } from 'node:http';
import { constants, createGzip } from 'node:zlib';
import { bytesOf, type AnswerPart, type WritePieces } from './response-writer.ts';

export interface Compressor {
  /** Undefined while the maximum of answers is being compressed: a further answer leaves uncompressed, without waiting. */
  readonly write: WritePieces | undefined;
}

/** Each holds some 270 KB until its caller has taken it. */
const MAX_ANSWERS = 32;
/** Node.js has four threads, which also write the log and look up names; those must not wait for compression. */
const MAX_THREADS = 2;
/** A thread compresses one in about a millisecond. */
const PIECE_BYTES = 65_536;

export function createCompressor(maxAnswers: number = MAX_ANSWERS): Compressor {
  const inTurn = createTurns(MAX_THREADS);
  let answers = 0;

  function write(response: ServerResponse, pieces: Iterator<AnswerPart>): void {
    const parts = inParts(pieces);
    // Higher levels take several times as long and save little more.
    const gzip = createGzip({ level: constants.Z_BEST_SPEED });
    answers++;
    response.once('close', () => {
      answers--;
      gzip.destroy();
    });
    gzip.on('data', (bytes: Buffer) => response.write(bytes));
    gzip.on('end', () => response.end());
    gzip.on('error', () => response.destroy());

    /** The next part is made when the caller has taken those before it. */
    function next(): void {
      if (response.writableNeedDrain) response.once('drain', () => inTurn(compress));
      else inTurn(compress);
    }

    function compress(done: () => void): void {
      if (gzip.destroyed) return done();
      const part = parts.next();
      gzip.once('close', done);
      const compressed = (): void => {
        gzip.off('close', done);
        done();
        if (part.done !== true && !gzip.destroyed) next();
      };
      if (part.done === true) gzip.end(compressed);
      else gzip.write(part.value, compressed);
    }

    next();
  }

  return {
    get write() {
      return answers < maxAnswers ? write : undefined;
    },
  };
}

/** Runs at most `most` pieces of work at a time, in order; a piece may call `done` more than once. */
function createTurns(most: number): (work: (done: () => void) => void) => void {
  const waiting: ((done: () => void) => void)[] = [];
  let running = 0;

  function start(work: (done: () => void) => void): void {
    let isRunning = true;
    running++;
    work(() => {
      if (!isRunning) return;
      isRunning = false;
      running--;
      const next = waiting.shift();
      if (next !== undefined) start(next);
    });
  }

  return (work) => {
    if (running < most) start(work);
    else waiting.push(work);
  };
}

function* inParts(pieces: Iterator<AnswerPart>): Generator<Uint8Array, void, undefined> {
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
    const bytes = bytesOf(next.value);
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
  }
}

export function takesGzip(acceptEncoding: string | string[] | undefined): boolean {
  if (typeof acceptEncoding !== 'string') return false;
  let takesAny = false;
  for (const coding of acceptEncoding.toLowerCase().split(',')) {
    const [name, ...parameters] = coding.split(';').map((piece) => piece.trim());
    const takes = !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
    if (name === 'gzip' || name === 'x-gzip') return takes;
    if (name === '*') takesAny = takes;
  }
  return takesAny;
}
