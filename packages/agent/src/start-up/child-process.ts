import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { canStartProcesses, spawnOwnCode, startOwnThread, type OwnCode, type OwnRunner } from '@svc/edge';
import { CHECKS } from './checks-process.ts';
import { readRegularFile } from './read-regular-file.ts';
import type {
  AdditionOrder,
  AdditionReport,
  ArrivalOrder,
  ArrivalReport,
  OffersOrder,
  OffersReport,
  ReverifyOrder,
  ReverifyReport,
  StartUpOrder,
  StartUpReport,
  WellFormed,
} from './report.ts';

/** The code of the child process, a text in this executable, so that one file is all there is to install. */
declare const SVC_CHECKS: string;

/** How much of the end of the child's standard error is kept for the log file, in case it fails. */
const STDERR_MAX_CHARACTERS = 10_000;

export function checksCode(): OwnCode {
  return { ...CHECKS, text: SVC_CHECKS };
}

/**
 * A child process that runs checks: in this process, or in a thread of it, the parsers would stay in memory for as long as
 * the agent runs. A thread does it only where no process can be started. The child ends when its channel is closed, which the end of this process does, too.
 */
export interface ChecksProcess {
  /** False once the process is over. */
  readonly isRunning: boolean;
  /** Sends an order; resolves with what `read` makes of the first message for which it returns something. */
  ask<Message, Outcome>(order: object, read: (message: Message) => Outcome | undefined): Promise<Outcome>;
  /** Ends it; resolves when it has ended. */
  end(): Promise<void>;
}

export function startChecks(signal?: AbortSignal): ChecksProcess {
  return checksIn(startRunner(signal));
}

/** The same of a process that was started before the rest of this one was loaded. */
export function checksStarted(child: ChildProcess, signal: AbortSignal): ChecksProcess {
  signal.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
  return checksIn(child);
}

function checksIn(child: OwnRunner): ChecksProcess {
  let stderr = '';
  let isRunning = true;
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = `${stderr}${text}`.slice(-STDERR_MAX_CHARACTERS);
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.once('close', () => (isRunning = false));
  return {
    get isRunning() {
      return isRunning;
    },
    ask: <Message, Outcome>(order: object, read: (message: Message) => Outcome | undefined) =>
      new Promise<Outcome>((resolve, reject) => {
        const settle = (): unknown =>
          child.off('message', onMessage).off('error', onError).off('close', onClose);
        const onMessage = (message: Message): void => {
          const outcome = read(message);
          if (outcome === undefined) return;
          settle();
          resolve(outcome);
        };
        const onError = (error: Error): void => {
          settle();
          reject(error);
        };
        // Unlike 'exit', 'close' comes once all of standard error has been read.
        const onClose = (code: number | null, signalled: string | null): void => {
          const how = `the checks ended with ${signalled ?? code}: ${stderr}`;
          onError(new Error(`cannot check the capability file: ${how}`));
        };
        child.on('message', onMessage).on('error', onError).on('close', onClose);
        child.send(order, () => {});
      }),
    end() {
      if (child.connected) child.disconnect();
      return exited;
    },
  };
}

function startRunner(signal: AbortSignal | undefined): OwnRunner {
  if (!canStartProcesses()) return startOwnThread(checksCode(), signal);
  return spawnOwnCode(checksCode(), {
    stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
    serialization: 'advanced',
    signal,
    killSignal: 'SIGKILL',
  });
}

/**
 * Runs the start-up checks in a process that ends with them. `onWellFormed` is called before the database is asked.
 * Rejects when the process fails, or is ended by `signal`. `checks` is one that already runs.
 */
export function checkInChildProcess(
  order: Omit<StartUpOrder, 'content'> & { readonly content?: Uint8Array | undefined },
  onWellFormed: (report: WellFormed) => void,
  signal?: AbortSignal,
  checks?: ChecksProcess,
): Promise<Exclude<StartUpReport, WellFormed>> {
  const whole: StartUpOrder = {
    ...order,
    content: order.content ?? contentOf(order),
    withoutProcesses: !canStartProcesses(),
  };
  const read = (report: StartUpReport): Exclude<StartUpReport, WellFormed> | undefined => {
    if (report.step !== 'well_formed') return report;
    onWellFormed(report);
    return undefined;
  };
  return askOnce(whole, checks ?? startChecks(signal), read);
}

/** The answer to each other order. */
type ReportOf<Order> = Order extends ReverifyOrder
  ? ReverifyReport
  : Order extends ArrivalOrder
    ? ArrivalReport
    : Order extends OffersOrder
      ? OffersReport
      : AdditionReport;

/** Has another order carried out in a process of its own. Rejects when the process fails, or is ended by `signal`. */
export function askChildProcess<Order extends ReverifyOrder | ArrivalOrder | OffersOrder | AdditionOrder>(
  order: Order,
  signal?: AbortSignal,
): Promise<ReportOf<Order>> {
  return askOnce(order, startChecks(signal), (report: ReportOf<Order>) => report);
}

async function askOnce<Message, Outcome>(
  order: object,
  checks: ChecksProcess,
  read: (message: Message) => Outcome | undefined,
): Promise<Outcome> {
  const outcome = await checks.ask(order, read);
  await checks.end();
  return outcome;
}

/** Undefined if the file cannot be read: the checks then fail to read it, too, and report that. */
function contentOf({
  file,
  isRunning = false,
}: Pick<StartUpOrder, 'file' | 'isRunning'>): Uint8Array | undefined {
  try {
    return isRunning ? readRegularFile(file) : readFileSync(file);
  } catch {
    return undefined;
  }
}
