import type { VerificationFault } from '@svc/agent';
import type { ServeMessage } from '@svc/gateway/mcp';

const FAULTS_IN_MESSAGE = 3;
const MESSAGE_MAX_CHARACTERS = 1000;
const FAULTS_IN_DATA = 20;

/** Why nothing can be served. */
export interface StartFault {
  /** One line. */
  readonly message: string;
  readonly faults: readonly {
    readonly path: string;
    readonly message: string;
    readonly line?: number;
    readonly column?: number;
  }[];
}

export type Started = { readonly serve: ServeMessage } | { readonly fault: StartFault };

/**
 * How far the start is. The file is read, then checked: `read` resolves at the first, `started` at the second or at a fault,
 * and `now` says at once what is known.
 */
export interface StartState {
  /** What can be answered without the checks: who serves. */
  readonly provisional: ServeMessage;
  readonly read: Promise<void>;
  readonly started: Promise<Started>;
  readonly now: Started | undefined;
  fileRead(provisional: ServeMessage): void;
  settle(started: Started): void;
}

export function createStartState(provisional: ServeMessage): StartState {
  let known = provisional;
  let now: Started | undefined;
  let resolveRead = (): void => {};
  let resolveStarted: (outcome: Started) => void = () => {};
  const read = new Promise<void>((resolve) => (resolveRead = resolve));
  const started = new Promise<Started>((resolve) => (resolveStarted = resolve));
  return {
    get provisional() {
      return known;
    },
    read,
    started,
    get now() {
      return now;
    },
    fileRead(next) {
      known = next;
      resolveRead();
    },
    settle(outcome) {
      now = outcome;
      resolveRead();
      resolveStarted(outcome);
    },
  };
}

/** `FILE: PATH: fault; ...` */
export function startFault(file: string, faults: readonly VerificationFault[]): StartFault {
  const shown = faults
    .slice(0, FAULTS_IN_MESSAGE)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  const more = faults.length - shown.length;
  const where = file === '' ? '' : `${file}: `;
  const text = `svc cannot start: ${where}${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
  return {
    message: text.length <= MESSAGE_MAX_CHARACTERS ? text : `${text.slice(0, MESSAGE_MAX_CHARACTERS - 3)}...`,
    faults: faults
      .slice(0, FAULTS_IN_DATA)
      .map(({ path, message, position }) => ({ path, message, ...position })),
  };
}
