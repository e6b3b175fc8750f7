import { isatty } from 'node:tty';
import { counted, createJsonLines, createOutputSink, printable, type OutputSink } from '@svc/edge';
import type { AgentEvent, Observe, ReloadedEvent } from './events.ts';
import { rotatingFile, type RotatingFile, type RotatingFileOptions } from './rotating-file.ts';

export interface Log {
  readonly observe: Observe;
  /** Records since the start that were never written because too many waited. */
  readonly recordsLost: number;
  /** Writes what is still buffered, for at most two seconds, and ignores everything that comes later. */
  close(): Promise<void>;
}

/** A log file with its older parts, or an open file, mostly standard output. */
export type LogDestination =
  | {
      /** The active file, made with the first record; older ones are called `<file>.1` and so on. */
      readonly file: string;
      readonly maxSizeBytes: number;
      /** Kept files, the active one included. */
      readonly maxFiles: number;
    }
  | {
      /** A file descriptor; if it is a terminal, records are lines for people. */
      readonly descriptor: number;
      /** Whether these lines have colours. */
      readonly colour: boolean;
      /** The file that the user named; absent for standard output. */
      readonly name?: string;
    };

export interface LogOptions {
  readonly destination: LogDestination;
  /** Gets one short line, without database text, for what an operator must know. */
  readonly standardError: { write(text: string): unknown; readonly isTTY?: boolean };
}

/** The records of some 70 calls: each write costs a promise and a turn of a thread of Node's pool. */
const GATHER_CHARACTERS = 16_384;
/** Reasons come from gateways and proxies, which may send anything. There is room for advice after a gateway's reason. */
const REASON_MAX_CHARACTERS = 280;
/** How many faults of a refused file a short line has; the log file has all of them. */
const FAULTS_SHOWN = 5;

/** Writes JSON lines to the log, the only place for database text, and short lines to standard error. */
export function createLog({ destination, standardError }: LogOptions): Log {
  const say = (line: string): unknown => standardError.write(`svc-agent: ${printable(line)}\n`);
  // If log and standard error are one terminal, the record itself is enough.
  const repeats = 'file' in destination || standardError.isTTY !== true || !isatty(destination.descriptor);
  const name = 'file' in destination ? destination.file : (destination.name ?? 'the log');
  const logName = 'file' in destination ? 'the log file' : name;
  let lostTold = 0;
  const { sink, gatherCharacters } = openSink(destination, {
    onBroken: ({ message }) =>
      say(`cannot write ${name}: ${message}; records wait in memory, up to 16 MiB, until it can be written`),
    onRecovered: () => {
      const lost = lines.lost - lostTold;
      lostTold = lines.lost;
      say(`${name} is written again; ${lost === 0 ? 'no record is' : recordsAre(lost)} lost`);
    },
    onStuck: ({ message }) =>
      say(`cannot begin a new log file: ${message}; ${name} grows until it can be renamed`),
  });
  const lines = createJsonLines(sink, gatherCharacters);
  return {
    observe(event) {
      lines.write(levelOf(event), event, event.event !== 'call');
      const line = repeats ? shortLine(event, logName) : undefined;
      if (line !== undefined) say(line);
    },
    get recordsLost() {
      return lines.lost;
    },
    async close() {
      const lost = await lines.close();
      if (lost > 0) say(`cannot write ${name} to its end: up to ${recordsAre(lost)} lost`);
      await sink.close(lost === 0);
    },
  };
}

function openSink(
  destination: LogDestination,
  calls: Pick<RotatingFileOptions, 'onBroken' | 'onRecovered' | 'onStuck'>,
): { readonly sink: RotatingFile | OutputSink; readonly gatherCharacters: number } {
  if (!('file' in destination))
    return { sink: createOutputSink({ ...destination, ...calls }), gatherCharacters: GATHER_CHARACTERS };
  const { file, maxSizeBytes, maxFiles } = destination;
  // What is gathered must not carry a full file far beyond its size.
  const gatherCharacters = Math.min(GATHER_CHARACTERS, Math.ceil(maxSizeBytes / 4));
  const sizeBytes = Math.max(1, maxSizeBytes - gatherCharacters);
  return { sink: rotatingFile({ file, sizeBytes, maxFiles, ...calls }), gatherCharacters };
}

function recordsAre(count: number): string {
  return `${counted(count, 'record', 'records')} ${count === 1 ? 'is' : 'are'}`;
}

export function levelOf(event: AgentEvent): 'info' | 'warn' | 'error' {
  switch (event.event) {
    case 'starting':
    case 'metrics_listening':
    case 'connected':
    case 'call':
    case 'database_back':
    case 'sharing_back':
    case 'reloaded':
    case 'reverified':
    case 'shutting_down':
      return 'info';
    // Without a usable key every token of the issuer is refused.
    case 'keys_fetched':
      return event.keys === 0 ? 'warn' : 'info';
    // It is no trouble that the agent has replaced a connection, or given it up.
    case 'disconnected':
      return event.planned === true ? 'info' : 'warn';
    case 'accept_failed':
    case 'links_short':
    case 'keys_fetch_failed':
    case 'labels_changed':
    case 'paging_tie':
    case 'cursor_too_long':
    case 'sharing_ended':
    case 'drift':
    case 'startup_warning':
    case 'database_lost':
    case 'database_away':
    case 'worker_ended':
    case 'account_finding':
    case 'account_audited':
      return 'warn';
    case 'startup_fault':
    case 'reload_refused':
    case 'database_refused':
    case 'crashed':
      return 'error';
  }
}

/** `logName` is what has the details. */
function shortLine(event: AgentEvent, logName: string): string | undefined {
  switch (event.event) {
    case 'starting':
      return `starting with ${counted(event.capabilities, 'capability', 'capabilities')} of ${event.config_file}`;
    case 'metrics_listening':
      return `metrics on ${event.address} port ${event.port}, path /metrics`;
    case 'accept_failed':
      return `cannot accept on ${event.address} port ${event.port}: ${event.message}`;
    case 'connected':
      return `connected to ${event.gateway}`;
    case 'disconnected': {
      if (event.planned === true) return undefined;
      const reason = clip(event.reason);
      return event.retry_in_ms === undefined
        ? `one connection to ${event.gateway} has ended: ${reason}`
        : `not connected to ${event.gateway}: ${reason}; next try in ${(event.retry_in_ms / 1000).toFixed(1)} s`;
    }
    case 'links_short':
      return event.reason === 'max_links'
        ? `${event.gateway} wants ${event.links_wanted} links, gateway.max_links allows fewer`
        : `only ${counted(event.links, 'link', 'links')} of ${event.links_wanted} to ${event.gateway}: the others have not been found for a minute`;
    case 'keys_fetch_failed':
      return `cannot fetch the keys of the issuer ${event.issuer}: ${clip(event.reason)}; ${event.keys_serve ? 'the keys known before stay in use' : 'its tokens cannot be verified'}`;
    case 'labels_changed':
      return `${event.capability}: the database has other labels for ${event.params} than when the agent started; reload or restart the agent to take them up`;
    case 'database_lost':
      return `the database${event.database === undefined ? '' : ` ${event.database}`} is lost: ${event.reason}; calls fail until it is back; ${logName} will tell when it is`;
    case 'database_away':
      return `the database ${event.database} is away: ${event.reason}; its calls are refused until it can be used; ${logName} will tell when it can`;
    case 'database_refused':
      return `the database ${event.database} is back, but its calls are refused until the next reload: ${firstLines(event, logName)}`;
    case 'worker_ended': {
      const how = event.signal ?? (event.code === undefined ? 'it was not started' : `code ${event.code}`);
      return `worker ${event.worker}${event.database === undefined ? '' : ` of ${event.database}`} has ended (${how}): its long calls fail, and it is started again in ${(event.restart_in_ms / 1000).toFixed(1)} s`;
    }
    case 'account_audited':
      return `the database account may do more than read (${counted(event.findings, 'finding', 'findings')}); ${logName} lists what, and how to fix it`;
    case 'reloaded':
      return `reloaded: ${counted(event.capabilities, 'capability', 'capabilities')}${changesOf(event)}`;
    case 'reload_refused':
      return `not reloaded, what was served before is still served: ${firstLines(event, logName)}`;
    case 'drift':
      return `the database has changed: ${firstLines(event, logName)}; calls may fail until the database or the file is corrected`;
    case 'crashed':
      return `internal error, ending; ${logName} holds the details`;
    case 'shutting_down':
      return `${event.signal}: finishing ${counted(event.in_flight, 'call', 'calls')}`;
    default:
      return undefined;
  }
}

function changesOf({ added, changed, removed, links_waiting: waiting }: ReloadedEvent): string {
  const parts = Object.entries({ added, changed, removed }).flatMap(([how, names]) =>
    names === undefined ? [] : [`${names.split(', ').length} ${how}`],
  );
  if (waiting > 0) parts.push(`${counted(waiting, 'link', 'links')} not replaced yet`);
  return parts.length === 0 ? ', none of them changed' : `, ${parts.join(', ')}`;
}

function firstLines(
  { message, detail }: { readonly message: string; readonly detail?: string },
  logName: string,
): string {
  const lines = message.split('\n');
  const more = lines.length - FAULTS_SHOWN;
  const shown = lines.slice(0, FAULTS_SHOWN).join('; ');
  if (more > 0) return `${shown}; and ${more} more, which ${logName} lists`;
  return detail === undefined ? shown : `${shown}; ${logName} has the details`;
}

function clip(reason: string): string {
  return reason.length <= REASON_MAX_CHARACTERS ? reason : `${reason.slice(0, REASON_MAX_CHARACTERS)}...`;
}
