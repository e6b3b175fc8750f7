import { writeSync } from 'node:fs';
import { counted, createJsonLines, type JsonLines, type LineSink } from '@svc/edge';
import sonicBoom from 'sonic-boom';
import type { GatewayConfig } from '../config/model.ts';
import type { GatewayEvent, Observe } from './events.ts';

type Level = GatewayConfig['logLevel'];

export interface Log {
  readonly observe: Observe;
  /** For the records of the replica's workers; see JsonLines. */
  readonly lines: Pick<JsonLines, 'forward' | 'whenSpace'>;
  /** Records that the output never got since the start because too many waited for it. */
  readonly recordsLost: number;
  /** Writes what is still buffered, for at most two seconds, and drops everything that comes later. */
  close(): Promise<void>;
}

const SEVERITY: Readonly<Record<Level, number>> = { debug: 0, info: 1, warn: 2, error: 3 };
/** How long until a full disk is tried again. */
const RETRY_MS = 1000;

export interface LogOptions {
  readonly level: Level;
  /** A file descriptor. */
  readonly destination: number;
  /** What stands in every record: which replica has made it, and which of its workers. */
  readonly fields?: { readonly replica_id: string; readonly worker?: number };
  /** Gets a line when the output cannot be written, and one when it can be again. */
  readonly standardError: { write(text: string): unknown };
}

/**
 * Writes events as JSON lines: `time` (ISO 8601), `level`, then the event's own fields. A reader that goes away
 * silences the log and never ends the process.
 */
export function createLog({ level: least, destination, standardError, fields }: LogOptions): Log {
  // Not by way of pino: its hook writes the rest when the process exits, and tries a full disk for ever.
  const output = new sonicBoom.SonicBoom({ fd: destination, sync: false });
  const say = (line: string): unknown => standardError.write(`svc-gateway: ${line}\n`);
  let confirm: (() => void) | undefined;
  let silent = false;
  let broken = false;
  let lostTold = 0;
  const written = (): void => {
    const done = confirm;
    confirm = undefined;
    done?.();
  };
  output.on('drain', () => {
    if (broken) {
      const lost = lines.lost - lostTold;
      lostTold = lines.lost;
      say(`the log is written again; records lost: ${lost}`);
    }
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
    if (first) {
      say(
        `cannot write the log: ${error.message}; records wait in memory, up to 16 MiB, until it can be written`,
      );
    }
    // The output keeps what a full disk refused, to the byte, and tries it first.
    setTimeout(() => !silent && output.write(''), RETRY_MS).unref();
  });
  const sink: LineSink = {
    write(text, done) {
      confirm = done;
      if (silent) written();
      else output.write(text);
    },
    writeAtExit(_begun, rest) {
      // A batch that a thread is writing may come behind; what is broken ends in the middle of a line.
      if (!silent && !broken) writeSync(destination, rest);
    },
  };
  const lines = createJsonLines(sink, undefined, fields);

  return {
    observe(event) {
      const level = levelOf(event);
      if (!silent && SEVERITY[level] >= SEVERITY[least]) lines.write(level, event, event.event !== 'request');
    },
    lines,
    get recordsLost() {
      return lines.lost;
    },
    async close() {
      // A reader that stands still must not hold up the end of the process.
      const lost = await lines.close();
      silent = true;
      if (lost === 0) return;
      say(`cannot write the log to its end: up to ${counted(lost, 'record', 'records')} lost`);
      output.destroy();
    },
  };
}

function levelOf(event: GatewayEvent): Level {
  switch (event.event) {
    case 'listening':
    case 'metrics_listening':
    case 'request':
    case 'keys_reloaded':
    case 'agent_connected':
    case 'agent_disconnected':
    case 'fleet_changed':
    case 'replicas_lookup_back':
    case 'shutting_down':
    case 'shared_limits_back':
    case 'keys_revoked':
      return 'info';
    // Without a key that can be used, every token of the issuer is refused.
    case 'keys_fetched':
      return event.keys === 0 ? 'warn' : 'info';
    case 'accept_failed':
    case 'agent_rejected':
    case 'agent_single_link':
    case 'links_short':
    case 'replicas_lookup_failed':
    case 'config_warning':
    case 'descriptions_differ':
    case 'keys_fetch_failed':
    case 'shared_limits_lost':
    case 'revocations_unknown':
    case 'keys_reload_failed':
    case 'worker_ended':
      return 'warn';
    case 'internal_error':
      return 'error';
  }
}
