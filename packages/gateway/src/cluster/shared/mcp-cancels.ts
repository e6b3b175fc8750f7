import type { PrimaryChannel, WorkerChannel } from '../channel.ts';

/** A call that workers look for. */
interface Search {
  readonly call: string;
  readonly missing: Set<number>;
  found: number;
}

/**
 * A client may cancel a call over another connection than it was made on, so all workers are asked for it. As in one
 * process nothing happens where it is under way twice, so it is counted before it is ended.
 */
export function passCancels(channel: PrimaryChannel): void {
  const joined = new Set<number>();
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

  channel.onJoin((worker) => void joined.add(worker));
  channel.onLeave((worker) => {
    joined.delete(worker);
    for (const id of searches.keys()) counted(id, worker, 0);
  });
  channel.on('mcp_cancel', ({ call }) => {
    const id = ++lastId;
    searches.set(id, { call, missing: new Set(joined), found: 0 });
    channel.broadcast('mcp_count', { id, call });
  });
  channel.on('mcp_counted', ({ id, count }, worker) => counted(id, worker, count));
}

/** A worker's calls that may be cancelled. */
interface CancellableCalls {
  countOf(call: string): number;
  abort(call: string): void;
}

/** A worker's part; returns what cancels a call of the replica. */
export function cancelAnywhere(
  channel: WorkerChannel,
  calls: () => CancellableCalls,
): (call: string) => void {
  channel.on('mcp_count', ({ id, call }) =>
    channel.tell('mcp_counted', { id, count: calls().countOf(call) }),
  );
  channel.on('mcp_abort', ({ call }) => calls().abort(call));
  return (call) => channel.tell('mcp_cancel', { call });
}
