/** Work that can be interrupted at each `yield`. These are a few milliseconds apart at most. */
export type Sliced<Result> = Generator<void, Result>;

const SLICE_MS = 5;

/** Each turn of the event loop does one slice, and all work takes turns, however much there is. */
const waiting: (() => void)[] = [];

/** Does the work in slices; between them the event loop serves others. */
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
