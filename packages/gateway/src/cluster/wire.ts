import type { ChildProcess } from 'node:child_process';

/** One end of what carries messages between two processes: in order, until one of them is gone. */
export interface Wire<Out, In> {
  /** `sent` is called once the message has left this process or never will. */
  send(message: Out, sent: () => void): void;
  onMessage(listener: (message: In) => void): void;
  /** Called once. */
  onEnd(listener: () => void): void;
  /** Ends it from this side. */
  cut(): void;
}

/** Any process with an IPC channel: this one, to its parent, or a child. */
type IpcProcess = NodeJS.Process | ChildProcess;

export function ipcWire<Out extends object, In>(peer: IpcProcess): Wire<Out, In> {
  return {
    send(message, sent) {
      // Without the callback, a peer that has just gone would be an error that nobody handles.
      if (peer.connected) peer.send?.(message, undefined, undefined, () => sent());
      else sent();
    },
    onMessage: (listener) => void peer.on('message', listener),
    onEnd: (listener) => void peer.once('disconnect', listener),
    cut() {
      if (peer.connected) peer.disconnect?.();
    },
  };
}
