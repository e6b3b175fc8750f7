import { counted } from '@svc/edge';
import type { AgentEvent } from '@svc/agent';

const FAULTS_SHOWN = 5;
const MORE = '`svc-agent check` says more';

/**
 * A line for standard error, for what the user must know; undefined for all else. It never has words of the database:
 * clients keep standard error in their logs.
 */
export function noteOf(event: AgentEvent): string | undefined {
  switch (event.event) {
    case 'startup_warning':
      return `warning: ${event.path}: ${event.message}`;
    case 'account_audited':
      return `the database account may do more than read (${counted(event.findings, 'finding', 'findings')}); \`svc-agent check\` lists what, and how to fix it`;
    case 'database_lost':
      return `${databaseOf(event)} is lost: ${event.reason}; calls fail until it is back`;
    case 'database_back':
      return `${databaseOf(event)} is back`;
    case 'database_away':
      return `${databaseOf(event)} is away: ${event.reason}; its calls are refused until it can be used`;
    case 'database_refused':
      return `${databaseOf(event)} is back, but its calls are refused until the file changes: ${firstLines(event.message)}`;
    case 'worker_ended':
      return `worker ${event.worker} has ended: its long calls fail, and it is started again`;
    case 'labels_changed':
      return `${event.capability}: the database has other labels for ${event.params} than at the start; save the capability file to take them up`;
    case 'reloaded':
      return `reloaded: ${counted(event.capabilities, 'capability', 'capabilities')}`;
    case 'reload_refused':
      return `not reloaded, what was served before is still served: ${firstLines(event.message)}; ${MORE}`;
    case 'drift':
      return `the database has changed: ${firstLines(event.message)}; calls may fail until the database or the file is corrected`;
    default:
      return undefined;
  }
}

function databaseOf({ database }: { readonly database?: string }): string {
  return database === undefined ? 'the database' : `the database ${database}`;
}

function firstLines(message: string): string {
  const lines = message.split('\n');
  const more = lines.length - FAULTS_SHOWN;
  return lines.slice(0, FAULTS_SHOWN).join('; ') + (more > 0 ? `; and ${more} more` : '');
}
