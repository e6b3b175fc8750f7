import { availableParallelism } from 'node:os';
import type { Worker } from 'node:worker_threads';
import type { VerifierAnswer, VerifierJob } from './verifier-worker.ts';

export interface Verifier {
  /** Whether the plaintext matches the bcrypt hash; rejects when the thread that compares is lost. */
  verify(plaintext: string, bcryptHash: string): Promise<boolean>;
  /** Ends all threads and rejects what still waits. */
  close(): Promise<void>;
}

interface PendingJob extends VerifierJob {
  readonly resolve: (matches: boolean) => void;
  readonly reject: (error: Error) => void;
}

interface Thread {
  readonly worker: Worker;
  job: PendingJob | undefined;
  idleTimer: NodeJS.Timeout | undefined;
}

/** One core stays free for the event loop; the authenticator starts at most four comparisons. */
const MAX_THREADS = Math.max(1, Math.min(4, availableParallelism() - 1));
/** A thread takes as much memory as all keys and calls together, and starts in less time than one comparison. */
const IDLE_MS = 5000;

/**
 * Compares keys in threads of its own, so that neither the event loop nor Node's pool waits for bcrypt. Threads start when
 * needed and end after `idleMs` without work; none keeps the process alive. `spawn` starts one that calls runVerifierWorker.
 */
export function createVerifier(options: {
  readonly spawn: () => Worker;
  readonly maxThreads?: number;
  readonly idleMs?: number;
}): Verifier {
  const { spawn, maxThreads = MAX_THREADS, idleMs = IDLE_MS } = options;
  const threads = new Set<Thread>();
  const waiting: PendingJob[] = [];
  let closed = false;

  function pump(): void {
    while (waiting.length > 0) {
      const idle = [...threads].find((thread) => thread.job === undefined);
      if (idle === undefined && threads.size >= maxThreads) return;
      const job = waiting.shift();
      if (job === undefined) return;
      try {
        assign(idle ?? start(), job);
      } catch (error) {
        job.reject(lost(error));
      }
    }
  }

  function start(): Thread {
    const thread: Thread = { worker: spawn(), job: undefined, idleTimer: undefined };
    threads.add(thread);
    thread.worker.unref();
    thread.worker.on('message', (answer: VerifierAnswer) => {
      const job = thread.job;
      thread.job = undefined;
      job?.resolve(answer.matches);
      pump();
      if (thread.job === undefined) retireLater(thread);
    });
    thread.worker.on('error', (error) => drop(thread, lost(error)));
    thread.worker.on('exit', () => drop(thread, lost(undefined)));
    return thread;
  }

  function assign(thread: Thread, job: PendingJob): void {
    clearTimeout(thread.idleTimer);
    thread.job = job;
    const message: VerifierJob = { plaintext: job.plaintext, bcryptHash: job.bcryptHash };
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    thread.worker.postMessage(message);
  }

  function retireLater(thread: Thread): void {
    thread.idleTimer = setTimeout(() => {
      drop(thread, lost(undefined));
      void thread.worker.terminate();
    }, idleMs).unref();
  }

  function drop(thread: Thread, reason: Error): void {
    if (!threads.delete(thread)) return;
    clearTimeout(thread.idleTimer);
    thread.job?.reject(reason);
    thread.job = undefined;
    pump();
  }

  return {
    verify(plaintext, bcryptHash) {
      if (closed) return Promise.reject(lost(undefined));
      return new Promise((resolve, reject) => {
        waiting.push({ plaintext, bcryptHash, resolve, reject });
        pump();
      });
    },
    async close() {
      closed = true;
      for (const job of waiting.splice(0)) job.reject(lost(undefined));
      const workers = [...threads].map((thread) => thread.worker);
      for (const thread of threads) drop(thread, lost(undefined));
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}

function lost(cause: unknown): Error {
  return new Error('cannot verify a key: the verifying thread has ended', { cause });
}
