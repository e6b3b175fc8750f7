import { writeSync } from 'node:fs';
import pino from 'pino';
import type { GatewayConfig } from '../config/gateway-config.ts';
import type { GatewayEvent, Observe } from './event.ts';

type Level = GatewayConfig['logLevel'];

export interface Log {
  readonly observe: Observe;
  /** Writes what is still buffered, for at most two seconds, and drops everything that comes later. */
  close(): Promise<void>;
}

const SEVERITY: Readonly<Record<Level, number>> = { debug: 0, info: 1, warn: 2, error: 3 };
/** Request records are gathered up to this many characters or milliseconds, so that calls do not pay for system calls. */
const GATHER_CHARACTERS = 8192;
const GATHER_MS = 100;
/** A reader that stops must not fill the memory; later records are lost instead. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;
const CLOSE_MS = 2000;
// JSON leaves these as they are, but some readers take them for line ends or for terminal commands.
const UNSAFE = /[\u007f-\u009f\u2028\u2029]/g;

/**
 * Writes events as JSON lines: `time` (ISO 8601), `level`, then the event's own fields. `destination` is a
 * file descriptor. A reader that goes away silences the log and never ends the process.
 */
export function createLog(options: { readonly level: Level; readonly destination: number }): Log {
  const threshold = SEVERITY[options.level];
  const output = pino.destination({ dest: options.destination, sync: false, maxLength: MAX_BUFFERED_BYTES });
  let gathered = '';
  let timer: NodeJS.Timeout | undefined;
  let writing = false;
  let silent = false;

  output.on('drain', () => (writing = false));
  output.on('error', (error: NodeJS.ErrnoException) => {
    // A full disk may have room again; a broken pipe never comes back.
    writing = false;
    silent ||= error.code === 'EPIPE';
  });
  const writeLastWords = (): void => {
    if (silent || gathered === '') return;
    try {
      writeSync(options.destination, gathered);
    } catch {
      // The process ends: there is nobody left to tell.
    }
  };
  process.once('exit', writeLastWords);

  function handOver(): void {
    clearTimeout(timer);
    timer = undefined;
    if (silent || gathered === '') return;
    const text = gathered;
    gathered = '';
    writing = true;
    output.write(text);
  }

  return {
    observe(event) {
      const level = levelOf(event);
      if (silent || SEVERITY[level] < threshold) return;
      const line = `{"time":"${isoTime()}","level":"${level}",${JSON.stringify(event).slice(1)}\n`;
      gathered += line.replace(UNSAFE, escapeCharacter);
      if (event.event !== 'request' || gathered.length >= GATHER_CHARACTERS) handOver();
      else timer ??= setTimeout(handOver, GATHER_MS).unref();
    },
    async close() {
      handOver();
      process.off('exit', writeLastWords);
      if (writing && !silent) await settled(output);
      silent = true;
      // A reader that stands still must not hold up the end of the process either.
      if (writing) output.destroy();
    },
  };
}

function levelOf(event: GatewayEvent): Level {
  switch (event.event) {
    case 'listening':
    case 'request':
    case 'agent_connected':
    case 'agent_disconnected':
    case 'shutting_down':
      return 'info';
    case 'agent_rejected':
    case 'config_warning':
      return 'warn';
    case 'internal_error':
      return 'error';
  }
}

function escapeCharacter(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

let isoMs = 0;
let isoText = '';
/** Many records fall into one millisecond; formatting the time costs more than the rest of the line. */
function isoTime(): string {
  const ms = Date.now();
  if (ms !== isoMs) {
    isoMs = ms;
    isoText = new Date(ms).toISOString();
  }
  return isoText;
}

type Output = ReturnType<typeof pino.destination>;

/** Resolves when the output has written everything, has failed, or has had its time. */
function settled(output: Output): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(resolve, CLOSE_MS);
    const done = (): void => {
      clearTimeout(deadline);
      resolve();
    };
    output.once('drain', done);
    output.once('error', done);
  });
}
