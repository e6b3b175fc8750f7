import type { ChildProcess } from 'node:child_process';
import type { Worker } from 'node:cluster';

/** Of a connection that the primary hands to a worker; Node.js numbers what it sends. */
interface HandOver {
  readonly cmd: 'NODE_CLUSTER';
  readonly act: 'newconn';
  readonly seq: number;
}

interface Closable {
  close(): void;
}

/** A worker that could not receive a connection is offered no other for so long. */
const AGAIN_MS = 100;

/**
 * For each worker: gives the connections that it had been handed to other workers, where it died before it said that it
 * took them, or had no descriptor to receive them. node:cluster waits for its word for ever, so the callers would find
 * neither an answer nor an end, and the worker would be handed no other connection. Where no other worker listens when
 * one dies they are closed.
 */
export function createReturnConnections(): (worker: Worker) => void {
  const listening = new Set<Worker>();
  return (worker) => {
    const { process: child } = worker;
    const handedOver = new Map<number, Closable>();
    /** What was sent with a handle and is not received yet, the oldest first: Node.js sends one after another. */
    const onTheirWay: (number | undefined)[] = [];
    const giveBack = (seq: number): void => {
      // What a worker answers that is about to end.
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
    // Of a process that could not be made, or died unnoticed before something was sent to it. node:cluster throws what
    // nobody listens to, which would end the primary.
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
 * Node.js keeps back the event while the process has not confirmed a connection, for ever when it is dead; so node:cluster
 * would choose the dead worker for the next connection, and lose that.
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
      // Behind the event of Node.js, where that comes, and before the next connection is accepted.
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
