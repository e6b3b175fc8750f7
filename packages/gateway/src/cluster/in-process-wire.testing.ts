import type { FromPrimary, FromWorker } from './channel.ts';
import type { Wire } from './channel.ts';

interface Ends {
  readonly primary: Wire<FromPrimary, FromWorker>;
  readonly worker: Wire<FromWorker, FromPrimary>;
}

/** Two ends of one wire inside this process: what crosses is cloned, and arrives later, as between processes. */
export function inProcessWire(): Ends {
  let open = true;
  const ends: (() => void)[] = [];
  const toPrimary: ((message: FromWorker) => void)[] = [];
  const toWorker: ((message: FromPrimary) => void)[] = [];
  const cut = (): void => {
    if (!open) return;
    open = false;
    setImmediate(() => {
      for (const listener of ends) listener();
    });
  };
  const end = <Out, In>(hearing: ((message: Out) => void)[], own: ((message: In) => void)[]) => ({
    send(message: Out, sent: () => void) {
      const copy = structuredClone(message);
      setImmediate(() => {
        if (open) for (const listener of hearing) listener(copy);
        sent();
      });
    },
    onMessage: (listener: (message: In) => void) => void own.push(listener),
    onEnd: (listener: () => void) => void ends.push(listener),
    cut,
  });
  return { primary: end(toWorker, toPrimary), worker: end(toPrimary, toWorker) };
}
