const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export interface Lines {
  add(chunk: Buffer): void;
  /** The input has ended; its last line needs no line feed. */
  end(): void;
}

/**
 * Splits bytes at line feeds, without a carriage return before one. Nothing is kept of a line longer than `maxBytes`:
 * `onTooLong` is called once, and the next line is read as ever.
 */
export function splitLines(maxBytes: number, onLine: (line: Buffer) => void, onTooLong: () => void): Lines {
  let pieces: Buffer[] = [];
  let length = 0;
  let isTooLong = false;

  function keep(piece: Buffer): void {
    if (isTooLong) return;
    length += piece.length;
    // The carriage return may be the byte beyond.
    if (length > maxBytes + 1) {
      isTooLong = true;
      pieces = [];
      return;
    }
    pieces.push(piece);
  }

  function finish(): void {
    const line = Buffer.concat(pieces);
    const wasTooLong = isTooLong;
    pieces = [];
    length = 0;
    isTooLong = false;
    const text = line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line;
    if (wasTooLong || text.length > maxBytes) onTooLong();
    else onLine(text);
  }

  return {
    add(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
        keep(chunk.subarray(from, at));
        finish();
        from = at + 1;
      }
      if (from < chunk.length) keep(chunk.subarray(from));
    },
    end() {
      if (length > 0) finish();
    },
  };
}
