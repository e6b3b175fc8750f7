import sonicBoom from 'sonic-boom';
import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { printable, type LineSink } from './json-lines.ts';

export interface OutputSinkOptions {
  /** A file descriptor, mostly that of standard output. Where it is a terminal the records are made readable. */
  readonly descriptor: number;
  readonly colour: boolean;
  /** The output cannot be written, for the first time since it last could; it is tried again until it can. */
  readonly onBroken: (error: Error) => void;
  readonly onRecovered: () => void;
}

export interface OutputSink extends LineSink {
  /** Whether the reader has gone away or the sink is closed: what is written is dropped. */
  readonly isSilent: boolean;
  /** `complete`: everything has been written; otherwise what is under way is given up. */
  close(complete: boolean): void;
}

/** How long until a full disk is tried again. */
const RETRY_MS = 1000;

/** Writes outside the event loop. A reader that goes away silences the log and never ends the process. */
export function createOutputSink({
  descriptor,
  colour,
  onBroken,
  onRecovered,
}: OutputSinkOptions): OutputSink {
  // Not by way of pino: its hook writes the rest when the process exits, and tries a full disk for ever.
  const output = new sonicBoom.SonicBoom({ fd: descriptor, sync: false });
  const isTerminal = isatty(descriptor);
  const shown = (lines: string): string => (isTerminal ? readableRecords(lines, colour) : lines);
  let confirm: (() => void) | undefined;
  let silent = false;
  let broken = false;
  const written = (): void => {
    const done = confirm;
    confirm = undefined;
    done?.();
  };
  output.on('drain', () => {
    if (broken) onRecovered();
    broken = false;
    written();
  });
  output.on('error', (error: NodeJS.ErrnoException) => {
    silent ||= error.code === 'EPIPE';
    if (silent) {
      // A broken pipe never comes back.
      written();
      return;
    }
    const first = !broken;
    broken = true;
    if (first) onBroken(error);
    // The output keeps what a full disk refused, to the byte, and tries it first.
    setTimeout(() => !silent && output.write(''), RETRY_MS).unref();
  });
  return {
    write(text, done) {
      confirm = done;
      if (silent) written();
      else output.write(shown(text));
    },
    writeAtExit(_begun, rest) {
      // A batch that a thread is writing may come behind; what is broken ends in the middle of a line.
      if (!silent && !broken) writeSync(descriptor, shown(rest));
    },
    get isSilent() {
      return silent;
    },
    close(complete) {
      silent = true;
      if (!complete) output.destroy();
    },
  };
}

const LEVEL_CHARACTERS = 5;
const GREY = '\u001b[90m';
const RESET = '\u001b[0m';
const COLOURS: Readonly<Record<string, string>> = {
  warn: '\u001b[33m',
  error: '\u001b[31m',
};
/** What can be told from the names and other values on its line without quotes. */
const PLAIN = /^[^\s"=\\\p{C}]+$/u;

/** One line for people of each line of JSON: time, level, event, then the other fields as `name=value`. */
export function readableRecords(lines: string, colour: boolean): string {
  return lines
    .split('\n')
    .map((line) => (line === '' ? line : readable(line, colour)))
    .join('\n');
}

function readable(line: string, colour: boolean): string {
  let record: Readonly<Record<string, unknown>>;
  try {
    record = JSON.parse(line);
  } catch {
    // Half a line of a worker that was killed.
    return line;
  }
  const paint = (code: string | undefined, text: string): string =>
    colour && code !== undefined ? `${code}${text}${RESET}` : text;
  const { time, level, event, ...rest } = record;
  const fields = Object.entries(rest).map(([name, value]) => `${paint(GREY, `${name}=`)}${valueText(value)}`);
  const levelText = String(level);
  return [
    paint(GREY, String(time)),
    paint(COLOURS[levelText], levelText.padEnd(LEVEL_CHARACTERS)),
    printable(String(event)),
    ...fields,
  ].join(' ');
}

function valueText(value: unknown): string {
  return typeof value === 'string' && PLAIN.test(value) ? value : printable(JSON.stringify(value));
}
