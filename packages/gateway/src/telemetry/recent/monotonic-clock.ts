const NS_PER_MS = 1_000_000n;
/** When `performance.now` began in this process, on the clock that all processes of the machine share. */
const startedAtMs = Number(process.hrtime.bigint() / NS_PER_MS) - performance.now();

/** In milliseconds, the same in all processes of the machine. Setting the system's clock does not move it. */
export function monotonicClock(): number {
  return startedAtMs + performance.now();
}
