import type { PrimaryChannel, WorkerChannel } from '../channel.ts';

/** A call that workers look for. */
interface Search {
  readonly call: string;
  readonly missing: Set<number>;
  found: number;
}

/**
 * In the primary. A client may cancel a call over another connection than the call came by, so all workers are asked for
 * it. A name that two calls have cancels neither, as in a single process, so calls are counted before one is ended.
 */
export function passCancels(channel: PrimaryChannel): void {
  const searches = new Map<number, Search>();
  let lastId = 0;

  function counted(id: number, worker: number, count: number): void {
    const search = searches.get(id);
    if (search?.missing.delete(worker) !== true) return;
    search.found += count;
    if (search.missing.size > 0) return;
    searches.delete(id);
    if (search.found === 1) channel.broadcast('mcp_abort', { call: search.call });
  }

  channel.onLeave((worker) => {
    for (const id of searches.keys()) counted(id, worker, 0);
  });
  channel.on('mcp_cancel', ({ call }) => {
    const id = ++lastId;
    searches.set(id, { call, missing: new Set(channel.workers), found: 0 });
    channel.broadcast('mcp_count', { id, call });
  });
  channel.on('mcp_counted', ({ id, count }, worker) => counted(id, worker, count));
}

/** In a worker: returns a function that cancels a call of any worker of the replica. */
export function cancelAnywhere(
  channel: WorkerChannel,
  calls: () => { countOf(call: string): number; abort(call: string): void },
): (call: string) => void {
  channel.on('mcp_count', ({ id, call }) =>
    channel.tell('mcp_counted', { id, count: calls().countOf(call) }),
  );
  channel.on('mcp_abort', ({ call }) => calls().abort(call));
  return (call) => channel.tell('mcp_cancel', { call });
}
