import { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';
import { Worker } from 'node:worker_threads';
import type { OwnCode } from './own-code.ts';
import { leaveRemovedFolder } from './working-folder.ts';

/**
 * What runs own code and exchanges messages with it: a child process, or a thread. It emits 'message', 'error', 'exit', and
 * 'close' with the exit code when all of its standard error has been read, too.
 */
export interface OwnRunner extends EventEmitter {
  readonly stderr: Readable | null;
  readonly connected: boolean;
  send(message: object, onSent: () => void): void;
  /** Ends it. */
  disconnect(): void;
}

/** False in the Node.js inside Electron: its executable is an application, which does not run code that it is given. */
export function canStartProcesses(): boolean {
  return process.versions['electron'] === undefined;
}

/** Starts a thread that runs the code, where no process can. Nothing that it writes reaches standard output. */
export function startOwnThread({ text }: OwnCode, signal?: AbortSignal): OwnRunner {
  return new OwnThread(text, signal);
}

class OwnThread extends EventEmitter implements OwnRunner {
  readonly stderr: Readable;
  readonly #worker: Worker;
  #connected = true;

  constructor(text: string, signal: AbortSignal | undefined) {
    super();
    leaveRemovedFolder();
    const worker = new Worker(text, { eval: true, stdout: true, stderr: true });
    this.#worker = worker;
    this.stderr = worker.stderr;
    worker.stdout.resume();
    const abort = (): void => {
      this.emit('error', new Error('the checks were ended'));
      this.disconnect();
    };
    signal?.addEventListener('abort', abort, { once: true });
    let exitCode: number | undefined;
    let hasEnded = false;
    const close = (): unknown => hasEnded && exitCode !== undefined && this.emit('close', exitCode, null);
    // Without a listener an error would end this process.
    this.on('error', () => {});
    worker.on('message', (message) => this.emit('message', message));
    worker.on('error', (error) => this.emit('error', error));
    worker.stderr.once('end', () => {
      hasEnded = true;
      close();
    });
    worker.once('exit', (code) => {
      signal?.removeEventListener('abort', abort);
      this.#connected = false;
      exitCode = code;
      this.emit('exit', code, null);
      close();
    });
    if (signal?.aborted === true) queueMicrotask(abort);
  }

  get connected(): boolean {
    return this.#connected;
  }

  send(message: object, onSent: () => void): void {
    this.#worker.postMessage(message);
    onSent();
  }

  disconnect(): void {
    this.#connected = false;
    void this.#worker.terminate();
  }
}
