export interface Releasers {
  /** Takes note of what to undo; when everything has been closed already, it is undone at once. */
  add(release: () => Promise<unknown>): Promise<void>;
  /** Undoes everything, the last first, each in its turn even when another fails; may be called again. */
  closeAll(): Promise<void>;
}

export function createReleasers(): Releasers {
  const pending: (() => Promise<unknown>)[] = [];
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    const failures: unknown[] = [];
    for (let release = pending.pop(); release !== undefined; release = pending.pop()) {
      try {
        await release();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, 'cannot release everything');
  };
  return {
    add: async (release) => {
      if (closing === undefined) pending.push(release);
      else await release();
    },
    closeAll: () => (closing ??= close()),
  };
}
