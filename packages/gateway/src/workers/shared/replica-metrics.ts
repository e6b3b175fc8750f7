import type { MetricsRegister, MetricsSnapshot, MetricsSum } from '@svc/edge';
import type { PrimaryChannel, WorkerChannel } from '../channel.ts';

/** A worker that does not answer in this time is shown as it was when it last did. */
const ANSWER_MS = 1000;
/** What a worker has counted and not yet told is lost when it is killed. */
const TELL_EVERY_MS = 5000;

/** The one page of a replica: what its primary and its workers have counted, those that have ended included. */
export function createReplicaMetrics(options: {
  readonly channel: PrimaryChannel;
  readonly own: MetricsRegister;
  readonly sum: MetricsSum;
}): Pick<MetricsRegister, 'text'> {
  const { channel, own, sum } = options;
  /** Of each worker that runs, what it has told last. */
  const told = new Map<number, MetricsSnapshot>();
  const joined = new Set<number>();
  /** Of all that have ended. */
  let counted: Promise<MetricsSnapshot> = Promise.resolve([]);
  const waiting = new Set<{ readonly missing: Set<number>; readonly done: () => void }>();

  function answered(worker: number): void {
    for (const { missing, done } of waiting) {
      missing.delete(worker);
      if (missing.size === 0) done();
    }
  }

  channel.onJoin((worker) => void joined.add(worker));
  channel.onLeave((worker) => {
    joined.delete(worker);
    const last = told.get(worker);
    told.delete(worker);
    if (last !== undefined) counted = counted.then(async (before) => sum.counted([before, last]));
    answered(worker);
  });
  channel.on('metrics', (snapshot, worker) => {
    told.set(worker, snapshot);
    answered(worker);
  });

  function allAnswered(): Promise<void> {
    return new Promise((resolve) => {
      const asked = {
        missing: new Set(joined),
        done() {
          clearTimeout(timer);
          waiting.delete(asked);
          resolve();
        },
      };
      const timer = setTimeout(() => asked.done(), ANSWER_MS);
      waiting.add(asked);
      channel.broadcast('metrics_wanted', undefined);
      if (asked.missing.size === 0) asked.done();
    });
  }

  return {
    async text() {
      await allAnswered();
      const primary = await own.snapshot();
      let ended: MetricsSnapshot;
      let of: Promise<MetricsSnapshot>;
      do {
        of = counted;
        ended = await of;
        // Another may have ended meanwhile: what it has counted must be in one of both.
      } while (of !== counted);
      return sum.text([primary, ...told.values(), ended]);
    },
  };
}

/** A worker's part. Returns what is to be done last before it ends. */
export function reportMetrics(channel: WorkerChannel, register: MetricsRegister): () => Promise<void> {
  const tell = async (): Promise<void> => channel.tell('metrics', await register.snapshot());
  channel.on('metrics_wanted', () => void tell());
  setInterval(() => void tell(), TELL_EVERY_MS).unref();
  return tell;
}
