export interface LineSink {
  /** Writes `text` and calls `done` once it is written or never will be; gets nothing else before that. */
  write(text: string, done: () => void): void;
  /**
   * The process ends when this returns. `begun` was given to `write`, which has not called `done`; `rest` was never
   * given to it. What this throws is ignored: nothing could be done about it any more.
   */
  writeAtExit(begun: string, rest: string): void;
}

/** A log of JSON objects, one a line whatever they contain. */
export interface JsonLines {
  /** `time` (ISO 8601), `level`, then the fields of `record`; at once when `urgent`, else soon. */
  write(level: string, record: object, urgent: boolean): void;
  /**
   * Writes lines as another process has made them, whole and at once. False when many wait: the next ones may come, but
   * should not before `whenSpace`.
   */
  forward(lines: string): boolean;
  /** Calls the listener once, when no more than a little waits. */
  whenSpace(listener: () => void): void;
  /** Records that were thrown away since the start because too many waited. */
  readonly lost: number;
  /**
   * Takes nothing more. When the sink stands still for two seconds, the rest is lost: resolves to how many records that
   * is at most, since what was given to `write` last may have been written in part. 0: everything is written.
   */
  close(): Promise<number>;
}

/** Lines are gathered up to this many characters or milliseconds, so that calls do not pay for system calls. */
const GATHER_CHARACTERS = 32_768;
const GATHER_MS = 100;
/** A sink that stands still must not fill the memory: later records are lost, and the log says how many. */
const MAX_WAITING_CHARACTERS = 16 * 1024 * 1024;
/** Of lines that another process keeps until they are taken, less waits here. */
const ENOUGH_WAITING_CHARACTERS = 1024 * 1024;
const CLOSE_MS = 2000;
// Some readers take them for line ends or for terminal commands.
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
const CONTROLS = new RegExp(CONTROL, 'g');

/** `fields` follow the level in every record. */
export function createJsonLines(
  sink: LineSink,
  gatherCharacters: number = GATHER_CHARACTERS,
  fields: object = {},
): JsonLines {
  const inEach = JSON.stringify(fields).slice(1, -1);
  const stamp = inEach === '' ? '' : `${inEach},`;
  /** Full batches, the oldest first; the newest lines gather beside them. */
  const full: string[] = [];
  let fullCharacters = 0;
  let gathered = '';
  let begun = '';
  let lost = 0;
  /** How many of the lost records the log has reported already. */
  let lostNoted = 0;
  let urgentWaits = false;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let closing: Promise<number> | undefined;
  let onIdle: (() => void) | undefined;
  let onSpace: (() => void)[] = [];

  const writeRest = (): void => {
    noteLost();
    const rest = full.join('') + gathered;
    if (begun === '' && rest === '') return;
    try {
      sink.writeAtExit(begun, rest);
    } catch {
      // See LineSink.
    }
  };
  process.once('exit', writeRest);

  function gather(line: string): void {
    gathered += line;
    if (gathered.length < gatherCharacters) return;
    full.push(gathered);
    fullCharacters += gathered.length;
    gathered = '';
  }

  function noteLost(): void {
    if (lost === lostNoted) return;
    gather(jsonLine('error', stamp, { event: 'log_records_lost', count: lost - lostNoted }));
    lostNoted = lost;
  }

  function takeBatch(): string {
    const batch = full.shift();
    if (batch !== undefined) {
      fullCharacters -= batch.length;
      return batch;
    }
    const text = gathered;
    gathered = '';
    urgentWaits = false;
    return text;
  }

  function handOver(): void {
    clearTimeout(timer);
    timer = undefined;
    if (begun !== '') return;
    begun = takeBatch();
    if (begun === '') onIdle?.();
    else sink.write(begun, onWritten);
  }

  function onWritten(): void {
    begun = '';
    // There is space again. Waiting for the next record to report the loss could take long.
    noteLost();
    next();
    if (onSpace.length === 0 || fullCharacters >= ENOUGH_WAITING_CHARACTERS) return;
    const listeners = onSpace;
    onSpace = [];
    for (const listener of listeners) listener();
  }

  function next(): void {
    if (full.length > 0 || urgentWaits || closed) handOver();
    else if (gathered !== '') timer ??= setTimeout(handOver, GATHER_MS).unref();
  }

  async function close(): Promise<number> {
    closed = true;
    noteLost();
    const drained = await new Promise<boolean>((resolve) => {
      const deadline = setTimeout(() => resolve(false), CLOSE_MS);
      onIdle = () => {
        clearTimeout(deadline);
        resolve(true);
      };
      handOver();
    });
    process.off('exit', writeRest);
    const rest = drained ? 0 : linesIn(begun + full.join('') + gathered);
    full.length = 0;
    gathered = '';
    return rest;
  }

  return {
    write(level, record, urgent) {
      if (closed) return;
      if (fullCharacters >= MAX_WAITING_CHARACTERS) {
        lost++;
        return;
      }
      noteLost();
      gather(jsonLine(level, stamp, record));
      urgentWaits ||= urgent;
      if (begun === '') next();
    },
    forward(text) {
      if (closed) return true;
      gather(text);
      urgentWaits = true;
      if (begun === '') next();
      return fullCharacters < ENOUGH_WAITING_CHARACTERS;
    },
    whenSpace: (listener) => void onSpace.push(listener),
    get lost() {
      return lost;
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** One line of text without control characters, for a terminal. */
export function printable(text: string): string {
  // A test costs a fraction of a replacement, and hardly any text holds such a character.
  return CONTROL.test(text) ? text.replace(CONTROLS, escapeCharacter) : text;
}

function linesIn(text: string): number {
  return text.split('\n').length - 1;
}

function jsonLine(level: string, stamp: string, record: object): string {
  // JSON itself escapes some of them only. Looked for in the whole line, they would cost a copy of it.
  const json = printable(JSON.stringify(record));
  return `{"time":"${isoTime()}","level":"${level}",${stamp}${json.slice(1)}\n`;
}

function escapeCharacter(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

let isoSecond = Number.NaN;
let isoUpToSecond = '';
/** Many records fall into one second; formatting the time costs more than the rest of the line. */
function isoTime(): string {
  const now = Date.now();
  const second = Math.floor(now / 1000);
  if (second !== isoSecond) {
    isoSecond = second;
    isoUpToSecond = new Date(now).toISOString().slice(0, -'000Z'.length);
  }
  return `${isoUpToSecond}${String(now - second * 1000).padStart(3, '0')}Z`;
}
