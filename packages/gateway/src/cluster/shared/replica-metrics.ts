import type { MetricsPage, MetricsRegister, MetricsSnapshot, MetricsSum } from '@svc/edge';
import type { PrimaryChannel, WorkerChannel } from '../channel.ts';
import { createAskAll } from './ask-all.ts';

/** A worker that is killed loses what it has counted since its last report. */
const TELL_EVERY_MS = 5000;

/** The metrics page of a replica: the sum of its primary and its workers, including those that have ended. */
export function createReplicaMetrics(options: {
  readonly channel: PrimaryChannel;
  readonly own: MetricsRegister;
  readonly sum: MetricsSum;
  /** Whether durations name traces. */
  readonly hasExemplars?: boolean;
}): MetricsPage {
  const { channel, own, sum, hasExemplars = false } = options;
  /** The last report of each worker that runs. */
  const told = new Map<number, MetricsSnapshot>();
  /** The sum of all workers that have ended. */
  let counted: Promise<MetricsSnapshot> = Promise.resolve([]);

  channel.onLeave((worker) => {
    const last = told.get(worker);
    told.delete(worker);
    if (last !== undefined) counted = counted.then(async (before) => sum.counted([before, last]));
  });
  const allAnswered = createAskAll(channel, 'metrics_wanted', 'metrics', (snapshot, worker) => {
    told.set(worker, snapshot);
  });

  async function all(): Promise<readonly MetricsSnapshot[]> {
    await allAnswered();
    const primary = await own.snapshot();
    let ended: MetricsSnapshot;
    let of: Promise<MetricsSnapshot>;
    do {
      of = counted;
      ended = await of;
      // A worker that ended meanwhile is in the new sum, and no longer in `told`.
    } while (of !== counted);
    return [primary, ...told.values(), ended];
  }

  return {
    text: async () => sum.text(await all()),
    openMetricsText: hasExemplars ? async () => sum.openMetricsText(await all()) : undefined,
  };
}

/** In a worker. The returned function must be called last before the worker ends. */
export function reportMetrics(channel: WorkerChannel, register: MetricsRegister): () => Promise<void> {
  const tell = async (): Promise<void> => channel.tell('metrics', await register.snapshot());
  channel.on('metrics_wanted', () => void tell());
  setInterval(() => void tell(), TELL_EVERY_MS).unref();
  return tell;
}
