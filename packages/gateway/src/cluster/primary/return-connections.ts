import type { ChildProcess } from 'node:child_process';
import type { Worker } from 'node:cluster';

/** The message with which Node.js hands a connection to a worker. */
interface HandOver {
  readonly cmd: 'NODE_CLUSTER';
  readonly act: 'newconn';
  readonly seq: number;
}

interface Closable {
  close(): void;
}

/** How long a worker that could not receive a connection is not offered another. */
const AGAIN_MS = 100;

/**
 * For each worker: passes connections that it was handed on to other workers, if it died before it accepted them or had no
 * descriptor to receive them. node:cluster would wait for it forever: the callers would get neither an answer nor an end,
 * and the worker would get no other connection. If a worker dies and no other one listens, its connections are closed.
 */
export function createReturnConnections(): (worker: Worker) => void {
  const listening = new Set<Worker>();
  return (worker) => {
    const { process: child } = worker;
    const handedOver = new Map<number, Closable>();
    /** Handles that were sent and not received yet, in the order of sending. */
    const onTheirWay: (number | undefined)[] = [];
    const giveBack = (seq: number): void => {
      // The answer of a worker that is about to end.
      child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack: seq, accepted: false }, undefined);
    };
    const send = child.send.bind(child);
    child.send = (...call: readonly unknown[]): boolean => {
      const [message, handle] = call;
      if (!isClosable(handle)) return Reflect.apply(send, child, call);
      const seq = isHandOver(message) ? message.seq : undefined;
      if (seq !== undefined) handedOver.set(seq, handle);
      onTheirWay.push(seq);
      return Reflect.apply(send, child, call);
    };
    child.on('internalMessage', (message: unknown) => {
      if (typeof message !== 'object' || message === null) return;
      if ('ack' in message) handedOver.delete(Number(message.ack));
      if (!('cmd' in message)) return;
      if (message.cmd === 'NODE_HANDLE_ACK') onTheirWay.shift();
      if (message.cmd !== 'NODE_HANDLE_NACK') return;
      const seq = onTheirWay.shift();
      if (seq !== undefined) setTimeout(() => handedOver.has(seq) && giveBack(seq), AGAIN_MS).unref();
    });
    // For a process that could not be started, or died before something was sent to it. Without a listener the error
    // would end the primary.
    worker.on('error', () => {});
    worker.once('listening', () => listening.add(worker));
    tellDisconnect(child);
    child.once('disconnect', () => {
      listening.delete(worker);
      for (const [seq, handle] of handedOver) {
        giveBack(seq);
        if (listening.size === 0) handle.close();
      }
      handedOver.clear();
    });
  };
}

/**
 * Node.js withholds the event while the process has not confirmed a connection, and a dead process never does. node:cluster
 * would then hand the next connection to the dead worker, and lose it.
 */
function tellDisconnect(child: ChildProcess): void {
  let connected: unknown = child.connected;
  let told = false;
  child.once('disconnect', () => (told = true));
  Object.defineProperty(child, 'connected', {
    configurable: true,
    get: () => connected,
    set(value: unknown) {
      connected = value;
      // After the event of Node.js, if there is one, and before the next connection is accepted.
      if (value === false) process.nextTick(() => process.nextTick(() => !told && child.emit('disconnect')));
    },
  });
}

function isHandOver(message: unknown): message is HandOver {
  if (typeof message !== 'object' || message === null || !('cmd' in message) || !('act' in message))
    return false;
  return message.cmd === 'NODE_CLUSTER' && message.act === 'newconn' && 'seq' in message;
}

function isClosable(handle: unknown): handle is Closable {
  return typeof handle === 'object' && handle !== null && 'close' in handle;
}
