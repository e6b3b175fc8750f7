/** Runs work one piece after the other, and at once if none is running. Work must not reject. */
export function createInOrder(): (work: () => Promise<void> | void) => void {
  const waiting: (() => Promise<void> | void)[] = [];
  let isBusy = false;

  function run(): void {
    for (let work = waiting.shift(); work !== undefined; work = waiting.shift()) {
      const done = work();
      if (done === undefined) continue;
      isBusy = true;
      void done.then(() => {
        isBusy = false;
        run();
      });
      return;
    }
  }

  return (work) => {
    waiting.push(work);
    if (!isBusy) run();
  };
}
