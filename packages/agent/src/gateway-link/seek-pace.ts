/** Between two dials that seek a worker. */
export const SEEK_MS = 250;
export const SEEK_JITTER = 0.5;
/** Dials in a row that did not get where they were to, for each link that is wanted, after which a search goes on slowly. */
export const FRUITLESS_PER_LINK = 4;
export const SLOW_JITTER = 0.2;
