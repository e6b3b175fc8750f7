import { writeSync } from 'node:fs';
import { createJsonLines } from '@svc/edge';
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
/** How long until a full disk is tried again. */
const RETRY_MS = 1000;

/**
 * Writes events as JSON lines: `time` (ISO 8601), `level`, then the event's own fields. `destination` is a
 * file descriptor. A reader that goes away silences the log and never ends the process.
 */
export function createLog(options: { readonly level: Level; readonly destination: number }): Log {
  const { level: least, destination } = options;
  const output = pino.destination({ dest: destination, sync: false });
  let confirm: (() => void) | undefined;
  let silent = false;
  const written = (): void => {
    const done = confirm;
    confirm = undefined;
    done?.();
  };
  output.on('drain', written);
  output.on('error', (error: NodeJS.ErrnoException) => {
    silent ||= error.code === 'EPIPE';
    // A broken pipe never comes back; the output keeps what a full disk refused and tries it first.
    if (silent) written();
    else setTimeout(() => !silent && output.write(''), RETRY_MS).unref();
  });
  const lines = createJsonLines({
    write(text, done) {
      confirm = done;
      if (silent) written();
      else output.write(text);
    },
    lastWords(_begun, rest) {
      if (!silent) writeSync(destination, rest);
    },
  });

  return {
    observe(event) {
      const level = levelOf(event);
      if (!silent && SEVERITY[level] >= SEVERITY[least]) lines.write(level, event, event.event !== 'request');
    },
    async close() {
      // A reader that stands still must not hold up the end of the process.
      const complete = await lines.close();
      silent = true;
      if (!complete) output.destroy();
    },
  };
}

function levelOf(event: GatewayEvent): Level {
  switch (event.event) {
    case 'listening':
    case 'metrics_listening':
    case 'request':
    case 'agent_connected':
    case 'agent_disconnected':
    case 'shutting_down':
      return 'info';
    case 'agent_rejected':
    case 'config_warning':
    case 'descriptions_differ':
      return 'warn';
    case 'internal_error':
      return 'error';
  }
}
