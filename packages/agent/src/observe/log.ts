import { basename, dirname } from 'node:path';
import { pino } from 'pino';
import { createStream } from 'rotating-file-stream';
import type { AgentEvent, Observe } from './event.ts';

export interface Log {
  readonly observe: Observe;
  /** Resolves when everything has been written. */
  close(): Promise<void>;
}

export interface LogOptions {
  /** The active file; older ones are called `<file>.1` and so on. */
  readonly file: string;
  readonly maxSizeBytes: number;
  /** Kept files, the active one included. */
  readonly maxFiles: number;
  /** Gets one short line without database detail for what an operator must know. */
  readonly standardError: { write(text: string): unknown };
}

/** JSON lines into the log file (the only place for database text), short ones to standard error. */
export function createLog(options: LogOptions): Log {
  const stream = createStream(basename(options.file), {
    path: dirname(options.file),
    size: `${options.maxSizeBytes}B`,
    ...(options.maxFiles > 1 ? { rotate: options.maxFiles - 1 } : { rotate: 1 }),
  });
  let broken = false;
  stream.on('error', (error) => {
    if (broken) return;
    broken = true;
    options.standardError.write(`svc-agent: cannot write ${options.file}: ${error.message}\n`);
  });
  const logger = pino(
    {
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    stream,
  );
  return {
    observe(event) {
      logger[levelOf(event)](event);
      const line = shortLine(event);
      if (line !== undefined) options.standardError.write(`svc-agent: ${line}\n`);
    },
    close: () => new Promise((resolve) => stream.end(() => resolve())),
  };
}

function levelOf(event: AgentEvent): 'info' | 'warn' | 'error' {
  switch (event.event) {
    case 'starting':
    case 'connected':
    case 'call':
    case 'shutting_down':
      return 'info';
    case 'disconnected':
    case 'account_finding':
      return 'warn';
    case 'startup_fault':
    case 'crashed':
      return 'error';
  }
}

function shortLine(event: AgentEvent): string | undefined {
  switch (event.event) {
    case 'starting':
      return `starting with ${event.capabilities} capabilities of ${event.config_file}`;
    case 'connected':
      return `connected to ${event.gateway}`;
    case 'disconnected':
      return `not connected to ${event.gateway}: ${event.reason}; next try in ${(event.retry_in_ms / 1000).toFixed(1)} s`;
    case 'account_finding':
      return `the database account ${event.problem}; the log file says how to mend it`;
    case 'crashed':
      return 'internal error, ending; the log file holds the details';
    case 'shutting_down':
      return `${event.signal}: finishing ${event.in_flight} calls`;
    case 'call':
    case 'startup_fault':
      return undefined;
  }
}
