import type { ChildProcess } from 'node:child_process';
import { errorText, restartDelay } from '@svc/edge';
import type { Observe } from '../../telemetry/events.ts';
import type { Listening } from '../messages.ts';
import type { PrimaryEnd } from './primary-channel.ts';
import { ipcWire } from '../channel.ts';

/** The worker processes of a replica. */
export interface Supervisor {
  /** Resolves when all listen. If a worker cannot, rejects with its reason. */
  start(): Promise<Listening>;
  /** Asks all to end; resolves when all have ended. */
  shutDown(signal: string): Promise<void>;
  kill(): void;
  readonly restarts: number;
  /** How many workers listen. */
  readonly listening: number;
}

export interface SupervisorOptions {
  readonly workers: number;
  readonly channel: PrimaryEnd;
  readonly observe: Observe;
  /** Starts the process of this worker, with a pipe for each of its outputs. */
  readonly fork: (worker: number) => ChildProcess;
  readonly onOutput: (child: ChildProcess) => void;
  readonly now: () => number;
}

interface Running {
  readonly child: ChildProcess;
  readonly startedAt: number;
  /** How long the place of the worker was empty before. */
  readonly waitedMs: number;
  /** Ticks since the last `alive` message. */
  silentTicks: number;
  /** Whether an `alive` message has come. */
  started: boolean;
}

const TICK_MS = 1000;
/** An event loop that is blocked for longer serves nobody, and would not end by itself. */
const SILENT_TICKS_MAX = 10;
/** A start may take long while many other processes start. */
const START_TICKS_MAX = 60;
/** How long the rest in the pipes of ended processes is read. */
const LAST_OUTPUT_MS = 2000;

/**
 * Keeps a process running for each worker. The place of a worker is
 *   running  its process is in `running`;
 *   waiting  its process ended: a timer in `timers` starts another;
 *   ended    its process ended after `shutDown`: no other is started.
 */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { workers, channel, observe, now } = options;
  const running = new Map<number, Running>();
  const timers = new Map<number, NodeJS.Timeout>();
  const listening = new Map<number, Listening>();
  const outputs = new Set<Promise<void>>();
  let state: 'starting' | 'serving' | 'ending' = 'starting';
  let restarts = 0;
  let settleStart: { resolve(listening: Listening): void; reject(error: Error): void } | undefined;
  let onAllEnded: (() => void) | undefined;

  channel.on('listening', (message, worker) => {
    listening.set(worker, message);
    if (state !== 'starting' || listening.size < workers) return;
    state = 'serving';
    settleStart?.resolve(message);
  });
  channel.on('cannot_start', ({ reason }, worker) => {
    if (state === 'starting') settleStart?.reject(new Error(reason));
    else if (state === 'serving')
      observe({
        event: 'internal_error',
        request_id: '',
        message: `worker ${worker} cannot start: ${reason}`,
      });
  });
  channel.on('alive', (_message, worker) => {
    const place = running.get(worker);
    if (place === undefined) return;
    place.silentTicks = 0;
    place.started = true;
  });

  const ticks = setInterval(() => {
    for (const place of running.values()) {
      place.silentTicks++;
      if (place.silentTicks > (place.started ? SILENT_TICKS_MAX : START_TICKS_MAX))
        place.child.kill('SIGKILL');
    }
  }, TICK_MS).unref();

  function run(worker: number, waitedMs: number): void {
    timers.delete(worker);
    const child = options.fork(worker);
    const place: Running = { child, startedAt: now(), waitedMs, silentTicks: 0, started: false };
    running.set(worker, place);
    channel.attach(worker, ipcWire(child));
    options.onOutput(child);
    const written = new Promise<void>((resolve) => child.once('close', () => resolve()));
    outputs.add(written);
    void written.then(() => outputs.delete(written));
    // The only event of a process that could not be started. For others it means that a message could not be sent.
    child.on('error', (error) => {
      if (child.pid !== undefined) return;
      tellFailure(worker, error);
      ended(worker, place, -1, '');
    });
    child.once('exit', (code, signal) => ended(worker, place, code ?? -1, signal ?? ''));
  }

  function ended(worker: number, place: Running, code: number, signal: string): void {
    if (running.get(worker) !== place) return;
    running.delete(worker);
    listening.delete(worker);
    if (state === 'ending') {
      if (running.size === 0) onAllEnded?.();
      return;
    }
    const delayMs = restartDelay(now() - place.startedAt, place.waitedMs);
    observe({ event: 'worker_ended', worker, signal, code, restart_in_ms: delayMs });
    runLater(worker, delayMs);
  }

  function runLater(worker: number, delayMs: number): void {
    const timer = setTimeout(() => {
      restarts++;
      try {
        run(worker, delayMs);
      } catch (error) {
        // If there is no memory or process for another worker, the remaining ones serve on.
        running.delete(worker);
        tellFailure(worker, error);
        runLater(worker, restartDelay(0, delayMs));
      }
    }, delayMs);
    timers.set(worker, timer);
  }

  function tellFailure(worker: number, error: unknown): void {
    const message = `worker ${worker} cannot be started: ${errorText(error)}`;
    observe({ event: 'internal_error', request_id: '', message });
  }

  function kill(): void {
    state = 'ending';
    for (const timer of timers.values()) clearTimeout(timer);
    for (const { child } of running.values()) child.kill('SIGKILL');
  }

  return {
    start: () =>
      new Promise((resolve, reject) => {
        settleStart = { resolve, reject };
        for (let worker = 0; worker < workers; worker++) run(worker, 0);
      }),
    async shutDown(signal) {
      state = 'ending';
      for (const timer of timers.values()) clearTimeout(timer);
      for (const worker of running.keys()) channel.send(worker, 'shut_down', { signal });
      if (running.size > 0) await new Promise<void>((resolve) => (onAllEnded = resolve));
      clearInterval(ticks);
      let timer: NodeJS.Timeout | undefined;
      const enough = new Promise<void>((resolve) => (timer = setTimeout(resolve, LAST_OUTPUT_MS)));
      await Promise.race([Promise.all(outputs), enough]);
      clearTimeout(timer);
    },
    kill,
    get listening() {
      return listening.size;
    },
    get restarts() {
      return restarts;
    },
  };
}
