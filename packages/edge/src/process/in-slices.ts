/** Work that says where others may go first, at each `yield`: a few milliseconds apart at most. */
export type Sliced<Result> = Generator<void, Result>;

const SLICE_MS = 5;

/** One slice of each in turn, and one in each turn of the event loop, however much such work there is. */
const waiting: (() => void)[] = [];

/** Does the work slice by slice, between which the event loop serves others. */
export function inSlices<Result>(work: Sliced<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const next = (): void => {
      try {
        const step = slice(work);
        if (step.done === true) resolve(step.value);
        else waiting.push(next);
      } catch (error) {
        reject(error);
      }
    };
    waiting.push(next);
    if (waiting.length === 1) setImmediate(turn);
  });
}

export function atOnce<Result>(work: Sliced<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

function slice<Result>(work: Sliced<Result>): IteratorResult<void, Result> {
  const endsAt = performance.now() + SLICE_MS;
  for (;;) {
    const step = work.next();
    if (step.done === true || performance.now() >= endsAt) return step;
  }
}

function turn(): void {
  const [next] = waiting;
  next?.();
  waiting.shift();
  if (waiting.length > 0) setImmediate(turn);
}
