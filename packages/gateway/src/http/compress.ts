import type { ServerResponse } from 'node:http';
import { constants, createGzip } from 'node:zlib';
import { bytesOf, type AnswerPart, type WritePieces } from './response-writer.ts';

/** Compresses answers beside the event loop. */
export interface Compressor {
  /** Undefined while as many answers as may be are compressed: a further one leaves as it is, and waits for none. */
  readonly write: WritePieces | undefined;
}

/** Each holds some 270 KB for as long as its caller takes its time. */
const MAX_ANSWERS = 32;
/** Of the four threads in which Node also writes the log and looks up names: these never wait for compression. */
const MAX_THREADS = 2;
/** A thread takes about a millisecond for one. */
const PIECE_BYTES = 65_536;

export function createCompressor(maxAnswers: number = MAX_ANSWERS): Compressor {
  const inTurn = createTurns(MAX_THREADS);
  let answers = 0;

  function write(response: ServerResponse, pieces: Iterator<AnswerPart>): void {
    const parts = inParts(pieces);
    // Higher levels take a multiple of the time to save a fraction of what this one saves.
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

/** Runs what it is given, in order, so many at a time; each says once or more often that it is done. */
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

/** Whether a caller takes answers in gzip, by its `Accept-Encoding`. */
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
