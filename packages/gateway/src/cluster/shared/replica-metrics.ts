import type { MetricsPage, MetricsRegister, MetricsSnapshot, MetricsSum } from '@svc/edge';
import type { PrimaryChannel, WorkerChannel } from '../channel.ts';
import { createAskAll } from './ask-all.ts';

/** What a worker has counted and not yet told is lost when it is killed. */
const TELL_EVERY_MS = 5000;

/** The one page of a replica: what its primary and its workers have counted, those that have ended included. */
export function createReplicaMetrics(options: {
  readonly channel: PrimaryChannel;
  readonly own: MetricsRegister;
  readonly sum: MetricsSum;
  /** Whether durations name traces. */
  readonly hasExemplars?: boolean;
}): MetricsPage {
  const { channel, own, sum, hasExemplars = false } = options;
  /** Of each worker that runs, what it has told last. */
  const told = new Map<number, MetricsSnapshot>();
  /** Of all that have ended. */
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
      // Another may have ended meanwhile: what it has counted must be in one of both.
    } while (of !== counted);
    return [primary, ...told.values(), ended];
  }

  return {
    text: async () => sum.text(await all()),
    openMetricsText: hasExemplars ? async () => sum.openMetricsText(await all()) : undefined,
  };
}

/** A worker's part. Returns what is to be done last before it ends. */
export function reportMetrics(channel: WorkerChannel, register: MetricsRegister): () => Promise<void> {
  const tell = async (): Promise<void> => channel.tell('metrics', await register.snapshot());
  channel.on('metrics_wanted', () => void tell());
  setInterval(() => void tell(), TELL_EVERY_MS).unref();
  return tell;
}
