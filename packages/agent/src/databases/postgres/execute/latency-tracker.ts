/** What a query's runs so far say of its next one. */
export interface Pace {
  /**
   * Whether it is expected to be over soon and to succeed. Only such queries are sent behind one another: behind a long
   * one they would wait, and one that fails takes those behind it along.
   */
  readonly isBrief: boolean;
  /** `ms` is the time that it took at the server, waiting behind others not counted. */
  ran(ms: number, succeeded: boolean): void;
}

const BRIEF_MS = 10;
const TRUSTED_FROM = 3;
/** Enough to stay trusted after one that took long, as when the machine was busy. */
const TRUST_MAX = 8;
const SETBACK = 4;

export function createPace(): Pace {
  let trust = 0;
  return {
    get isBrief() {
      return trust >= TRUSTED_FROM;
    },
    ran(ms, succeeded) {
      trust = succeeded && ms <= BRIEF_MS ? Math.min(trust + 1, TRUST_MAX) : Math.max(trust - SETBACK, 0);
    },
  };
}
