import { counted, createJsonLines, createOutputSink, type JsonLines } from '@svc/edge';
import type { GatewayEvent, Observe } from './events.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface Log {
  readonly observe: Observe;
  /** For records that workers of the replica write; see JsonLines. */
  readonly lines: Pick<JsonLines, 'forward' | 'whenSpace' | 'write'>;
  /** Records lost since the start because too many waited for the output. */
  readonly recordsLost: number;
  /** Writes what is still buffered, for two seconds at most, and drops all later records. */
  close(): Promise<void>;
}

const STANDARD_OUTPUT = 1;
const SEVERITY: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

export interface LogOptions {
  readonly level: LogLevel;
  /** Whether answered probes have records. */
  readonly probes: boolean;
  /** A file descriptor, by default that of standard output. If it is a terminal, records are lines for people. */
  readonly destination?: number;
  /** Whether these lines have colours; default false. */
  readonly colour?: boolean;
  /** In every record: which replica has made it, and which of its workers. */
  readonly fields?: { readonly replica_id: string; readonly worker?: number };
  /** Gets a line when the output cannot be written, and one when it can be written again. */
  readonly standardError: { write(text: string): unknown };
}

/**
 * Writes events as JSON lines: `time` (ISO 8601), `level`, then the event's own fields. If the reader goes away, the log
 * becomes silent and the process goes on.
 */
export function createLog({
  level: least,
  probes,
  destination = STANDARD_OUTPUT,
  colour = false,
  standardError,
  fields,
}: LogOptions): Log {
  const say = (line: string): unknown => standardError.write(`svc-gateway: ${line}\n`);
  let lostTold = 0;
  const sink = createOutputSink({
    descriptor: destination,
    colour,
    onBroken: (error) => {
      say(
        `cannot write the log: ${error.message}; records wait in memory, up to 16 MiB, until it can be written`,
      );
    },
    onRecovered: () => {
      const lost = lines.lost - lostTold;
      lostTold = lines.lost;
      say(`the log is written again; records lost: ${lost}`);
    },
  });
  const lines = createJsonLines(sink, undefined, fields);

  return {
    observe(event) {
      const level = levelOf(event);
      if (sink.isSilent || SEVERITY[level] < SEVERITY[least] || (!probes && isProbe(event))) return;
      lines.write(level, event, event.event !== 'request');
    },
    lines,
    get recordsLost() {
      return lines.lost;
    },
    async close() {
      // A reader that has stopped reading must not keep the process from ending.
      const lost = await lines.close();
      if (lost > 0) say(`cannot write the log to its end: up to ${counted(lost, 'record', 'records')} lost`);
      sink.close(lost === 0);
    },
  };
}

/** Records an error that nothing has caught, then ends the process. */
export function endAtUncaughtErrors(log: Log, exitCode: number): void {
  process.on('uncaughtException', (error) => {
    log.observe({ event: 'internal_error', request_id: '', message: error.stack ?? error.message });
    void log.close().finally(() => process.exit(exitCode));
  });
}

/** Whether the event is a request for the health of the gateway or of a service, and was answered. */
function isProbe(event: GatewayEvent): boolean {
  return (
    event.event === 'request' &&
    /\/(?:healthz|readyz)$/.test(event.route) &&
    (event.http_status === 200 || event.http_status === 503)
  );
}

function levelOf(event: GatewayEvent): LogLevel {
  switch (event.event) {
    case 'listening':
    case 'metrics_listening':
    case 'console_listening':
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
    // Without a usable key, every token of the issuer is refused.
    case 'keys_fetched':
      return event.keys === 0 ? 'warn' : 'info';
    case 'accept_failed':
    case 'console_token_refused':
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
