export { DURATION_PATTERN, parseDuration } from './duration.ts';
export { firstSignal } from './first-signal.ts';
export { nearest, nearestWithin } from './nearest.ts';
